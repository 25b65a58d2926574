import { limits } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { count, counted, time } from '../layout/format.ts'

const pageOf = (request: FastifyRequest) => `/apps/${visitedApp(request).appId}/profiles`

/** Renders the form for the IDs of users to delete. `refused` is the text that was sent before. */
export function deletionForm(request: FastifyRequest, refused: string | undefined): Html {
  return html`<details class="card"${refused !== undefined && html` open`}>
    <summary>Delete users</summary>
    <form method="post" action="${pageOf(request)}/deletion/check">
      ${formTokenField(request)}
      <label>User IDs, one per line, at most ${count(limits.userIdsPerRequest)}
        <textarea name="users" rows="5" required spellcheck="false">${refused}</textarea>
      </label>
      <p><button class="danger">Continue…</button> <span class="hint">The next page says what is deleted, and asks.</span></p>
    </form>
  </details>`
}

/** Renders the button that asks whether to delete one user. */
export function deleteUserButton(request: FastifyRequest, userId: string): Html {
  return html`<form method="post" action="${pageOf(request)}/deletion/check">
    ${formTokenField(request)}
    <input type="hidden" name="users" value="${userId}">
    <button class="danger">Delete this user…</button>
  </form>`
}

/** The users that a deletion would delete, and when. */
interface PlannedDeletion {
  userIds: readonly string[]
  /** Those of them that are not registered now. A misspelt ID is one of them. */
  unregistered: readonly string[]
  startsAt: Date
  completesAt: Date
}

/** How many user IDs the question shows. */
const shownIds = 20

/** Asks for confirmation, and says what a deletion deletes, when, and that nothing takes it back. */
export function confirmDeletion(request: FastifyRequest, planned: PlannedDeletion): Html {
  const { userIds, unregistered, startsAt, completesAt } = planned
  const registered = userIds.length - unregistered.length
  const users = counted(userIds.length, 'user')
  return html`<div class="notice warn">
      <p><strong>A deletion cannot be cancelled.</strong> It concerns ${users}, of which ${count(registered)} ${registered === 1 ? 'is' : 'are'} registered now.</p>
      ${unregistered.length > 0 && html`<p><strong>Not registered</strong>: ${idList(unregistered)}. Look for mistakes, such as spaces at an end: they are a part of the ID.</p>`}
    </div>
    <div class="card"><dl class="facts">
      <dt>Users</dt><dd>${idList(userIds)}</dd>
      <dt>Starts</dt><dd>${time(startsAt)}. From then on, the users are excluded from campaigns.</dd>
      <dt>Completes</dt><dd>${time(completesAt)}. Until then, their profiles can still be read and updated.</dd>
      <dt>Deletes</dt><dd>The users and all their profile values, also values and registrations that arrive before the completion, and the stored files of imports and exports that the app has then.</dd>
    </dl></div>
    <div class="actions">
      <form method="post" action="${pageOf(request)}/deletion">
        ${formTokenField(request)}
        <input type="hidden" name="users" value="${userIds.join('\n')}">
        <button class="danger">Delete ${users}</button>
      </form>
      <a href="${pageOf(request)}">Back</a>
    </div>`
}

function idList(userIds: readonly string[]): Html {
  const shown = userIds.slice(0, shownIds).map((userId) => html`<code class="as-is">${userId}</code> `)
  return html`${shown}${userIds.length > shownIds && `and ${count(userIds.length - shownIds)} more`}`
}
