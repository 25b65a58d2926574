import type { showUserDeletion } from '@sluice/deletions'
import { type Html, html } from '@sluice/html'
import type { UserView } from '@sluice/profiles'
import type { FastifyRequest } from 'fastify'
import { count, shortDatetime, time } from '../layout/format.ts'
import { deleteUserButton } from './deletion-parts.ts'

/** Renders the form that looks up one user. */
export function lookupForm(appId: number, userId: string): Html {
  return html`<form method="get" action="/apps/${appId}/profiles/user" class="search" role="search">
    <label>User ID <input type="search" name="user" value="${userId}" required maxlength="255"></label>
    <button>Look up</button>
  </form>`
}

interface UserLookup {
  userId: string
  /** Why the text cannot be a user ID. */
  problem: string | undefined
  user: UserView | undefined
  deletion: Awaited<ReturnType<typeof showUserDeletion>>
}

/**
 * Renders one user: the deletion state and every profile value. A deletion request may name a user who is not
 * registered.
 */
export function userContent(request: FastifyRequest, { userId, problem, user, deletion }: UserLookup): Html {
  // The form for deletions has one ID per line.
  const isDeletable = user !== undefined && deletion === null && !/[\r\n]/.test(userId)
  return html`
    ${problem !== undefined && html`<p class="notice warn">A user ID ${problem}.</p>`}
    ${problem === undefined && user === undefined && html`<p class="notice warn">No user <code class="as-is">${userId}</code> is registered.</p>`}
    ${(user !== undefined || deletion !== null) && deletionSection(user, deletion)}
    ${user !== undefined && valuesSection(user)}
    ${isDeletable && deleteUserButton(request, userId)}`
}

function deletionSection(user: UserView | undefined, deletion: UserLookup['deletion']): Html {
  return html`<section class="card" aria-labelledby="state">
    <h2 id="state">${user === undefined ? 'Deletion' : html`<code class="as-is">${user.user_id}</code>`}</h2>
    <dl class="facts">
      ${user !== undefined && html`<dt>Campaign target</dt><dd>${user.campaign_target ? 'yes' : 'no'}</dd>`}
      <dt>Deletion</dt><dd>${deletion === null ? 'not requested' : html`<span class="badge ${deletion.state === 'started' ? 'bad' : 'warn'}">${deletion.state}</span>`}</dd>
      ${
        deletion !== null &&
        html`<dt>Accepted</dt><dd>${time(new Date(deletion.accepted_at))}</dd>
        <dt>Starts</dt><dd>${time(new Date(deletion.starts_at))}</dd>
        <dt>Completes</dt><dd>${time(new Date(deletion.completes_at))}</dd>`
      }
    </dl>
  </section>`
}

function valuesSection(user: UserView): Html {
  const values = Object.entries(user.profiles)
  if (values.length === 0) return html`<p class="card">No profile values.</p>`
  return html`<section aria-labelledby="values">
    <h2 id="values">Profile</h2>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="values"><table>
      <thead><tr><th scope="col">Key</th><th scope="col">Type</th><th scope="col">Value</th></tr></thead>
      <tbody>${values.map(
        ([key, { type, value }]) =>
          html`<tr><th scope="row"><code class="as-is">${key}</code></th><td><span class="badge">${type}</span></td><td class="as-is">${shown(type, value)}</td></tr>`,
      )}</tbody>
    </table></div>
  </section>`
}

function shown(type: string, value: string | number): string | Html {
  if (type === 'int' && typeof value === 'number') return count(value)
  if (type !== 'datetime') return String(value)
  const text = shortDatetime(String(value))
  // A date is the same in every time zone.
  if (text.length === 'YYYY-MM-DD'.length) return text
  return html`${time(new Date(`${text.replace(' ', 'T')}Z`))} <span class="hint">${text} UTC</span>`
}
