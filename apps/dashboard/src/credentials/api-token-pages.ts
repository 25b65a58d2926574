import type { TokenSummary } from '@sluice/accounts'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { time } from '../layout/format.ts'

/** Renders the facts about the API token, and the link to register a new one (service.md, Authentication 1). */
export function tokenSection(appId: number, { lastFour, registeredAt }: TokenSummary): Html {
  return html`<section class="card" aria-labelledby="api-token">
    <h2 id="api-token">API token</h2>
    <dl class="facts">
      <dt>Ends in</dt><dd><code>…${lastFour}</code></dd>
      <dt>Registered</dt><dd>${time(registeredAt)} (${time(registeredAt, 'distance')})</dd>
    </dl>
    <p class="hint">Requests to the API send the token in the header <code>X-Service-Token</code>. It is stored as a hash and cannot be shown again.</p>
    <p><a class="button" href="/apps/${appId}/credentials/api-token">Register a new API token…</a></p>
  </section>`
}

/** Asks for confirmation, and states the consequences. The form names the token that it replaces. */
export function confirmRegistration(request: FastifyRequest, { lastFour }: TokenSummary): Html {
  const { appId, name } = visitedApp(request)
  return html`<div class="notice warn">
      <p><strong>The token that ends in <code>…${lastFour}</code> stops working at once, and cannot be restored.</strong></p>
      <p>Until every client of ${name} has the new one, their requests are refused with 403: profile updates, bulk imports, user registration, deletion requests. Files that are uploaded already are still imported. Existing upload addresses and links to error files stay valid.</p>
    </div>
    <div class="actions">
      <form method="post">
        ${formTokenField(request)}
        <input type="hidden" name="replaces" value="${lastFour}">
        <button class="danger">Replace …${lastFour} with a new token</button>
      </form>
      <a href="/apps/${appId}/credentials">Back</a>
    </div>`
}

/** Renders a new API token. No other page ever shows it. */
export function newToken(appId: number, token: string): Html {
  return html`<div class="card">
      <p>Copy the token now: it is shown only once. The previous token has stopped working.</p>
      <p><code class="secret" data-copy="API token" tabindex="0" role="textbox" aria-readonly="true" aria-label="New API token">${token}</code></p>
      <p><a class="button" href="/apps/${appId}/credentials">I have stored it</a></p>
    </div>`
}
