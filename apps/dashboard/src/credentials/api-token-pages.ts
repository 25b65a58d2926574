import type { TokenSummary } from '@sluice/accounts'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { time } from '../layout/format.ts'

/** What is known of the token, and the way to another one. */
export function tokenSection(appId: number, { lastFour, registeredAt }: TokenSummary): Html {
  return html`<section class="card" aria-labelledby="api-token">
    <h2 id="api-token">API token</h2>
    <dl class="facts">
      <dt>Ends in</dt><dd><code>…${lastFour}</code></dd>
      <dt>Registered</dt><dd>${time(registeredAt)} (${time(registeredAt, 'distance')})</dd>
    </dl>
    <p class="hint">Requests to the API carry it in the header <code>X-Service-Token</code>. It is stored as a hash: nobody can show it again.</p>
    <p><a class="button" href="/apps/${appId}/credentials/api-token">Register a new API token…</a></p>
  </section>`
}

/** Says what will stop working. The form names the token that it replaces. */
export function confirmRegistration(request: FastifyRequest, { lastFour }: TokenSummary): Html {
  const { appId, name } = visitedApp(request)
  return html`<div class="notice warn">
      <p><strong>The token that ends in <code>…${lastFour}</code> stops working at once, and cannot be brought back.</strong></p>
      <p>Until every client of ${name} has the new one, their requests are refused with 403: profile updates, bulk imports, user registration, deletion requests. Files that were uploaded before are still imported; upload addresses and links to error files that were handed out stay good.</p>
    </div>
    <div class="actions">
      <form method="post">
        ${formTokenField(request)}
        <input type="hidden" name="replaces" value="${lastFour}">
        <button class="danger">Replace …${lastFour} by a new token</button>
      </form>
      <a href="/apps/${appId}/credentials">Keep it</a>
    </div>`
}

/** The only place where the token is ever shown. */
export function newToken(appId: number, token: string): Html {
  return html`<div class="card">
      <p>Copy it now: it is shown only here, once. The one before has stopped working.</p>
      <p><code class="secret" tabindex="0" role="textbox" aria-readonly="true" aria-label="New API token">${token}</code></p>
      <p><a class="button" href="/apps/${appId}/credentials">I have stored it</a></p>
    </div>`
}
