import type { Member } from '@sluice/accounts'
import { type Html, html } from '@sluice/html'
import type { Invitation } from '@sluice/sign-in'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp, visitorOf } from '../access/guard.ts'
import { time } from '../layout/format.ts'

/**
 * Renders the members, the invitations, and the form that adds a member. `refused` is the problem of the last form, and
 * the address that could not be added.
 */
export function settingsContent(
  request: FastifyRequest,
  { members, invitations }: { members: readonly Member[]; invitations: readonly Invitation[] },
  refused: { email?: string; problem: string } | undefined,
): Html {
  return html`
    ${refused && html`<p class="notice bad" role="alert" id="problem">${refused.problem}</p>`}
    ${memberList(request, members)}
    ${invitations.length > 0 && invitationList(request, invitations)}
    ${additionForm(request, refused?.email)}`
}

function memberList(request: FastifyRequest, members: readonly Member[]): Html {
  const { appId } = visitedApp(request)
  const row = ({ email, getsMails, since }: Member) => html`<tr>
    <th scope="row">${email}${email === visitorOf(request).email && ' (you)'}</th>
    <td><input type="hidden" name="shown" value="${email}"><label class="tick"><input type="checkbox" name="email" value="${email}"${getsMails && html` checked`}> gets mails</label></td>
    <td data-name="Since">${time(since, 'day')}</td>
    <td>${members.length > 1 && html`<a href="/apps/${appId}/settings/members/remove?member=${encodeURIComponent(email)}">Remove…</a>`}</td>
  </tr>`
  return html`<section aria-labelledby="members">
    <h2 id="members">Members</h2>
    <p>Members can sign in here and see everything in this app. Members with mails enabled are notified of every import that ends and every deletion that completes.</p>
    ${members.every(({ getsMails }) => !getsMails) && html`<p class="notice warn">Nobody gets this app’s mails.</p>`}
    <form method="post" action="/apps/${appId}/settings/mails">
      ${formTokenField(request)}
      <div class="scroll" tabindex="0" role="region" aria-labelledby="members"><table class="list">
        <thead><tr><th scope="col">E-mail address</th><th scope="col">Mails</th><th scope="col">Since</th><th scope="col">Actions</th></tr></thead>
        <tbody>${members.map(row)}</tbody>
      </table></div>
      <p><button>Save who gets mails</button></p>
    </form>
  </section>`
}

function invitationList(request: FastifyRequest, invitations: readonly Invitation[]): Html {
  const { appId } = visitedApp(request)
  const form = (
    action: string,
    email: string,
    button: string,
  ) => html`<form method="post" action="/apps/${appId}/settings/${action}">
      ${formTokenField(request)}
      <input type="hidden" name="email" value="${email}">
      <button class="quiet" aria-label="${button}: ${email}">${button}</button>
    </form>`
  const row = ({ email, invitedBy, expiresAt }: Invitation) => html`<tr>
    <th scope="row">${email}</th>
    <td data-name="Invited by">${invitedBy}</td>
    <td data-name="Until">${time(expiresAt, 'day')}</td>
    <td><div class="actions">${form('members', email, 'Send another link')}${form('invitations/withdraw', email, 'Withdraw')}</div></td>
  </tr>`
  return html`<section aria-labelledby="invitations">
    <h2 id="invitations">Invitations</h2>
    <p>Each of these addresses was sent a link. It does not belong to a member and gets no other mail until it is confirmed with the link.</p>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="invitations"><table class="list">
      <thead><tr><th scope="col">E-mail address</th><th scope="col">Invited by</th><th scope="col">Until</th><th scope="col">Actions</th></tr></thead>
      <tbody>${invitations.map(row)}</tbody>
    </table></div>
  </section>`
}

function additionForm(request: FastifyRequest, refused: string | undefined): Html {
  return html`<section class="card narrow" aria-labelledby="addition">
    <h2 id="addition">Add a member</h2>
    <p>The person gets a link by mail, and becomes a member by confirming the address.</p>
    <form method="post" action="/apps/${visitedApp(request).appId}/settings/members">
      ${formTokenField(request)}
      <label>E-mail address
        <input type="email" name="email" required maxlength="254" value="${refused}"
          ${refused !== undefined && html`aria-invalid="true" aria-describedby="problem"`}>
      </label>
      <button class="main">Add</button>
    </form>
  </section>`
}

/** Asks for confirmation, and states the consequences. */
export function confirmRemoval(request: FastifyRequest, email: string): Html {
  const { appId, name } = visitedApp(request)
  return html`<div class="notice warn">
      <p><strong>${email}</strong> gets no more mails of ${name}, and loses access to it at once. They can be added again.</p>
    </div>
    <div class="actions">
      <form method="post">
        ${formTokenField(request)}
        <input type="hidden" name="member" value="${email}">
        <button class="danger">Remove ${email}</button>
      </form>
      <a href="/apps/${appId}/settings">Back</a>
    </div>`
}
