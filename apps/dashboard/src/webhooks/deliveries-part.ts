import { type Html, html } from '@sluice/html'
import type { WebhookDelivery } from '@sluice/webhooks'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { count, time } from '../layout/format.ts'

const states = {
  waiting: html`<span class="badge busy">waiting</span>`,
  delivered: html`<span class="badge good">delivered</span>`,
  failed: html`<span class="badge bad">failed</span>`,
} as const

/** Renders a page of deliveries, newest first, each with a button that sends it again. */
export function deliverySection(
  request: FastifyRequest,
  deliveries: readonly WebhookDelivery[],
  { next, isFirst }: { next: string | undefined; isFirst: boolean },
): Html {
  const page = `/apps/${visitedApp(request).appId}/webhooks`
  return html`<section aria-labelledby="deliveries">
    <h2 id="deliveries">Deliveries</h2>
    ${deliveries.length === 0 ? html`<p class="card">No ${!isFirst && 'older '}deliveries.</p>` : table(request, deliveries)}
    <p class="actions">
      ${!isFirst && html`<a class="button" href="${page}">Newest</a>`}
      ${next !== undefined && html`<a class="button" href="${page}?before=${next}">Older</a>`}
    </p>
  </section>`
}

function table(request: FastifyRequest, deliveries: readonly WebhookDelivery[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="deliveries"><table>
    <thead><tr>
      <th scope="col">Event</th><th scope="col">State</th><th scope="col">Actions</th><th scope="col">When</th>
      <th scope="col" class="number">Attempts</th><th scope="col">Last answer</th><th scope="col">Host</th>
    </tr></thead>
    <tbody>${deliveries.map((delivery) => row(request, delivery))}</tbody>
  </table></div>`
}

function row(request: FastifyRequest, delivery: WebhookDelivery): Html {
  const { deliveryId, type, createdAt, state, attempts, nextAttemptAt, status, error, url } = delivery
  const { host } = new URL(url)
  return html`<tr>
    <th scope="row"><code>${type}</code></th>
    <td>${states[state]}${nextAttemptAt !== null && attempts > 0 && html`<br>next attempt ${time(nextAttemptAt)}`}</td>
    <td><form method="post" action="/apps/${visitedApp(request).appId}/webhooks/send-again">
      ${formTokenField(request)}
      <input type="hidden" name="delivery" value="${deliveryId}">
      <button class="quiet" aria-label="Send again: ${type} of ${createdAt.toISOString()} to ${host}">Send again</button>
    </form></td>
    <td>${time(createdAt)}</td>
    <td class="number">${count(attempts)}</td>
    <td class="wrap">${error ?? status ?? '–'}</td>
    <td><code>${host}</code></td>
  </tr>`
}
