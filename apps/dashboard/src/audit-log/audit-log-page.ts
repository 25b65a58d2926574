import { type AuditView, auditActions } from '@sluice/audit-log'
import { type Html, html } from '@sluice/html'
import { time } from '../layout/format.ts'

/** Which part of the audit log a page shows. */
interface Place {
  /** The position of the next page, if there is one. */
  next: string | undefined
  isFirst: boolean
  isOfApp: boolean
}

/** Renders a page of the audit log. */
export function auditLogContent(
  address: string,
  entries: readonly AuditView[],
  { next, isFirst, isOfApp }: Place,
): Html {
  return html`
    <p class="actions"><a class="button" href="${address}/file">Download all entries</a></p>
    ${entries.length === 0 ? html`<p class="card">No ${!isFirst && 'older '}entries.</p>` : table(entries, isOfApp)}
    <p class="actions">
      ${!isFirst && html`<a class="button" href="${address}">Newest</a>`}
      ${next !== undefined && html`<a class="button" href="${`${address}?before=${encodeURIComponent(next)}`}">Older</a>`}
    </p>`
}

function table(entries: readonly AuditView[], isOfApp: boolean): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Audit log"><table>
    <thead><tr>
      <th scope="col">When</th>${!isOfApp && html`<th scope="col">App</th>`}<th scope="col">Who</th><th scope="col">What</th>
      <th scope="col">Target</th><th scope="col">Outcome</th><th scope="col">Address</th>
    </tr></thead>
    <tbody>${entries.map((entry) => row(entry, isOfApp))}</tbody>
  </table></div>`
}

const outcomes = {
  started: html`<span class="mark warn">unknown</span>`,
  done: html`<span class="mark good">done</span>`,
  unchanged: html`<span class="mark">unchanged</span>`,
  refused: html`<span class="mark warn">refused</span>`,
  failed: html`<span class="mark bad">failed</span>`,
} as const

const actors = {
  member: 'member',
  operator: 'operator',
  cli: 'command line',
  token: 'API token',
  guest: 'guest',
} as const

function row(entry: AuditView, isOfApp: boolean): Html {
  const app = entry.app_id === null ? 'all' : html`<a href="/apps/${entry.app_id}/audit-log">${entry.app_id}</a>`
  return html`<tr>
    <td>${time(new Date(entry.at))}</td>
    ${!isOfApp && html`<td>${app}</td>`}
    <th scope="row" class="wrap">${entry.who} <span class="hint">${actors[entry.who_type]}</span></th>
    <td>${auditActions[entry.what] ?? entry.what}</td>
    <td class="wrap">${entry.target ?? '–'}</td>
    <td>${outcomes[entry.outcome]}</td>
    <td>${entry.address ?? '–'}</td>
  </tr>`
}
