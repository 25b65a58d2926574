import { limits, webhookEvents } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { WebhookEndpoint } from '@sluice/webhooks'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { time } from '../layout/format.ts'

/** An endpoint that could not be added, with the fields of its form. */
export interface RefusedEndpoint {
  url: string
  events: readonly string[]
  problem: string
}

/** Renders the endpoints of an app, and the form that adds one. */
export function endpointSections(
  request: FastifyRequest,
  endpoints: readonly WebhookEndpoint[],
  refused: RefusedEndpoint | undefined,
): Html {
  return html`
    ${refused && html`<p class="notice bad" role="alert" id="problem">Not added: ${refused.problem}.</p>`}
    <p>An endpoint gets a request when an import or an export ends, or a deletion completes. The request has the form of Standard Webhooks, and is signed with the secret of the endpoint.</p>
    ${endpoints.length > 0 && endpointList(request, endpoints)}
    ${additionForm(request, refused)}`
}

type States = Pick<WebhookEndpoint, 'erringSince' | 'failingSince' | 'disabledAt'>

function stateOf({ erringSince, failingSince, disabledAt }: States): Html {
  if (disabledAt !== null)
    return html`<span class="badge bad">disabled</span> since ${time(disabledAt)}: the receiver wants nothing more`
  if (failingSince !== null) return html`<span class="badge bad">failing</span> since ${time(failingSince)}`
  return erringSince === null
    ? html`<span class="badge good">active</span>`
    : html`<span class="badge warn">trying again</span> since ${time(erringSince)}: no try has succeeded`
}

function endpointList(request: FastifyRequest, endpoints: readonly WebhookEndpoint[]): Html {
  const { appId } = visitedApp(request)
  const page = `/apps/${appId}/webhooks`
  const row = ({ endpointId, url, events, createdAt, ...states }: WebhookEndpoint) => html`<tr>
    <th scope="row" class="wrap"><code>${url}</code></th>
    <td>${events.length === webhookEvents.length ? 'all events' : html`<ul class="plain">${events.map((event) => html`<li>${event}</li>`)}</ul>`}</td>
    <td>${stateOf(states)}</td>
    <td>${time(createdAt, 'day')}</td>
    <td><div class="actions">
      ${states.disabledAt !== null && enableForm(request, endpointId, url)}
      <form method="post" action="${page}/test">
        ${formTokenField(request)}
        <input type="hidden" name="endpoint" value="${endpointId}">
        <button class="quiet" aria-label="Send a test to ${url}">Send a test</button>
      </form>
      <a href="${page}/rotate?endpoint=${endpointId}" aria-label="Replace the secret of ${url}">Replace the secret…</a>
      <a href="${page}/remove?endpoint=${endpointId}" aria-label="Remove ${url}">Remove…</a>
    </div></td>
  </tr>`
  return html`<section aria-labelledby="endpoints">
    <h2 id="endpoints">Endpoints</h2>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="endpoints"><table>
      <thead><tr><th scope="col">URL</th><th scope="col">Events</th><th scope="col">State</th><th scope="col">Added</th><th scope="col">Actions</th></tr></thead>
      <tbody>${endpoints.map(row)}</tbody>
    </table></div>
  </section>`
}

function enableForm(request: FastifyRequest, endpointId: string, url: string): Html {
  return html`<form method="post" action="/apps/${visitedApp(request).appId}/webhooks/enable">
    ${formTokenField(request)}
    <input type="hidden" name="endpoint" value="${endpointId}">
    <button class="quiet" aria-label="Enable ${url}">Enable</button>
  </form>`
}

function additionForm(request: FastifyRequest, refused: RefusedEndpoint | undefined): Html {
  const chosen = refused?.events ?? webhookEvents
  const tick = (event: string) =>
    html`<label class="tick"><input type="checkbox" name="event" value="${event}"${chosen.includes(event) && html` checked`}> <code>${event}</code></label>`
  return html`<section class="card narrow" aria-labelledby="addition">
    <h2 id="addition">Add an endpoint</h2>
    <form method="post" action="/apps/${visitedApp(request).appId}/webhooks">
      ${formTokenField(request)}
      <label>URL
        <input type="url" name="url" required maxlength="${limits.webhookUrlLength}" placeholder="https://" value="${refused?.url}"
          ${refused !== undefined && html`aria-invalid="true" aria-describedby="problem"`}>
      </label>
      <fieldset>
        <legend>Events</legend>
        ${webhookEvents.map(tick)}
      </fieldset>
      <button class="main">Add</button>
    </form>
  </section>`
}

/** Renders a new secret. No other page ever shows it. */
export function newSecret(appId: number, { url, secret }: { url: string; secret: string }): Html {
  return html`<div class="card">
    <p>Copy the secret now: it is shown only once.</p>
    <dl class="facts"><dt>URL</dt><dd><code>${url}</code></dd></dl>
    <p><code class="secret" data-copy="secret" tabindex="0" role="textbox" aria-readonly="true" aria-label="Secret of the endpoint">${secret}</code></p>
    <p><a class="button" href="/apps/${appId}/webhooks">I have stored it</a></p>
  </div>`
}

/** Asks for confirmation before an endpoint is removed or its secret is replaced, and states the consequences. */
export function confirm(request: FastifyRequest, action: 'remove' | 'rotate', endpoint: WebhookEndpoint): Html {
  const { appId } = visitedApp(request)
  const { consequence, button } = {
    remove: {
      consequence: 'gets nothing more, and its deliveries disappear from this page.',
      button: html`<button class="danger">Remove the endpoint</button>`,
    },
    rotate: {
      consequence:
        'gets a new secret, which is shown next. For 24 hours, requests are signed with the old secret as well.',
      button: html`<button class="danger">Replace the secret</button>`,
    },
  }[action]
  return html`<div class="notice warn"><p><strong><code>${endpoint.url}</code></strong> ${consequence}</p></div>
    <div class="actions">
      <form method="post" action="/apps/${appId}/webhooks/${action}">
        ${formTokenField(request)}
        <input type="hidden" name="endpoint" value="${endpoint.endpointId}">
        ${button}
      </form>
      <a href="/apps/${appId}/webhooks">Back</a>
    </div>`
}
