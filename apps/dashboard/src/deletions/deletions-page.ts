import type { DeletionGroup, DeletionRequestView } from '@sluice/deletions'
import { type Html, html } from '@sluice/html'
import { count, counted, time } from '../layout/format.ts'
import { timeline } from './timeline.ts'

/** The content of the page. */
interface Deletions {
  /** Deletions that have not completed. */
  groups: readonly DeletionGroup[]
  /** There are more groups than `groups` contains. */
  isCut: boolean
  /** The newest requests, at most `listLimit`. */
  requests: readonly DeletionRequestView[]
  listLimit: number
  now: Date
}

const states = {
  accepted: html`<span class="badge warn">accepted</span>`,
  started: html`<span class="badge busy">started</span>`,
  completed: html`<span class="badge good">completed</span>`,
}

export function deletionsContent({ groups, isCut, requests, listLimit, now }: Deletions): Html {
  if (requests.length === 0) {
    return html`<p class="card">There are no deletion requests. Members make them on the page Profiles, and clients through the API. Each request starts about six days after it was accepted, and completes on the 7th of the month after that.</p>`
  }
  return html`
    ${due(groups, isCut)}
    ${groups.length > 0 && html`<section aria-labelledby="calendar"><h2 id="calendar">Calendar</h2>${timeline(groups, now)}</section>`}
    <section aria-labelledby="requests">
      <h2 id="requests">Requests</h2>
      <div class="scroll" tabindex="0" role="region" aria-labelledby="requests"><table>
        <thead><tr>
          <th scope="col">Accepted</th><th scope="col">State</th><th scope="col">Starts</th><th scope="col">Completes</th>
          <th scope="col" class="number">Users named</th><th scope="col" class="number">Deleted</th><th scope="col">From</th>
        </tr></thead>
        <tbody>${requests.map(requestRow)}</tbody>
      </table></div>
      ${requests.length === listLimit && html`<p class="hint">Only the newest ${listLimit} requests are shown.</p>`}
    </section>`
}

/** Renders the next dates of completion, with the number of users and requests for each date. */
function due(groups: readonly DeletionGroup[], isCut: boolean): Html {
  const dates = Map.groupBy(groups, ({ completesAt }) => completesAt.getTime())
  const sum = (list: readonly DeletionGroup[], field: 'users' | 'requests') =>
    list.reduce((total, group) => total + group[field], 0)
  return html`<section aria-labelledby="due">
    <h2 id="due">Due next</h2>
    ${dates.size === 0 && html`<p class="card">Nothing: every request has completed.</p>`}
    <ul class="cards">${[...dates].map(
      ([date, list]) => html`<li class="tile">
        <span class="name">completes ${time(new Date(date), 'day')}</span>
        <span class="figure">${count(sum(list, 'users'))}</span>
        <span class="name">users named in ${counted(sum(list, 'requests'), 'request')}</span>
      </li>`,
    )}</ul>
    ${isCut && html`<p class="hint">There are more deletions. Only the deletions that are due first are shown.</p>`}
  </section>`
}

function requestRow(request: DeletionRequestView): Html {
  return html`<tr>
    <td>${time(new Date(request.accepted_at))}</td>
    <td>${states[request.state]}</td>
    <td>${time(new Date(request.starts_at), 'day')}</td>
    <td>${time(new Date(request.completes_at), 'day')}</td>
    <td class="number">${count(request.users_requested)}</td>
    <td class="number">${request.state === 'completed' ? count(request.users_deleted) : '–'}</td>
    <td>${request.token_last_four === null ? 'dashboard' : html`API token <code>…${request.token_last_four}</code>`}</td>
  </tr>`
}
