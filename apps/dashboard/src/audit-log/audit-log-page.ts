import { type AuditView, auditActions } from '@sluice/audit-log'
import { type Html, html } from '@sluice/html'
import { addressOf, option, timeProblems } from '../layout/filters.ts'
import { time } from '../layout/format.ts'
import type { FilterTexts, InvalidFilter } from './filter.ts'

/** Which part of the audit log a page shows. */
interface Part {
  entries: readonly AuditView[]
  /** The position of the next page, if there is one. */
  next: string | undefined
  isFirst: boolean
  isOfApp: boolean
  /** The filter that is not valid. */
  invalid: InvalidFilter | undefined
}

const problems: Record<InvalidFilter, string> = {
  what: 'There is no such action.',
  ...timeProblems,
}

/** Renders the filters and a page of the entries that match. `path` is the address without filters. */
export function auditLogContent(path: string, texts: FilterTexts, part: Part): Html {
  const { entries, next, isFirst, isOfApp, invalid } = part
  return html`
    ${invalid !== undefined && html`<p class="notice bad" role="alert">${problems[invalid]}</p>`}
    ${filterForm(path, texts)}
    ${entries.length === 0 ? html`<p class="card">No ${!isFirst && 'older '}entry matches.</p>` : table(path, entries, isOfApp)}
    <p class="actions">
      ${!isFirst && html`<a class="button" href="${addressOf(path, texts)}">Newest</a>`}
      ${next !== undefined && html`<a class="button" href="${addressOf(path, { ...texts, before: next })}">Older</a>`}
      ${invalid === undefined && html`<a class="button" href="${addressOf(`${path}/file`, texts)}">Download all entries that match</a>`}
    </p>`
}

function filterForm(path: string, { who, what, since, until }: FilterTexts): Html {
  const actions = Object.entries({ '': 'any', ...auditActions })
  return html`<form method="get" action="${path}" class="search" role="search">
    <label>Person <input type="search" name="who" maxlength="255" value="${who}" placeholder="whole address"></label>
    <label>Action <select name="what">${actions.map(([value, words]) => option(value, words, what))}</select></label>
    <label>Since <input type="date" name="since" value="${since}"></label>
    <label>and before <input type="date" name="until" value="${until}"></label>
    <button>Find</button>
  </form>`
}

function table(path: string, entries: readonly AuditView[], isOfApp: boolean): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Audit log"><table>
    <thead><tr>
      <th scope="col">When</th>${!isOfApp && html`<th scope="col">App</th>`}<th scope="col">Person</th><th scope="col">Action</th>
      <th scope="col">Target</th><th scope="col">Outcome</th><th scope="col">Network address</th>
    </tr></thead>
    <tbody>${entries.map((entry) => row(path, entry, isOfApp))}</tbody>
  </table></div>`
}

const outcomes = {
  started: html`<span class="badge warn">unknown</span>`,
  done: html`<span class="badge good">done</span>`,
  unchanged: html`<span class="badge">unchanged</span>`,
  refused: html`<span class="badge warn">refused</span>`,
  failed: html`<span class="badge bad">failed</span>`,
} as const

const actors = {
  member: 'member',
  operator: 'operator',
  cli: 'command line',
  token: 'API token',
  guest: 'guest',
} as const

function row(path: string, entry: AuditView, isOfApp: boolean): Html {
  const app = entry.app_id === null ? 'all' : html`<a href="/apps/${entry.app_id}/audit-log">${entry.app_id}</a>`
  return html`<tr>
    <td>${time(new Date(entry.at))}</td>
    ${!isOfApp && html`<td>${app}</td>`}
    <th scope="row" class="wrap">${entry.who !== '' && html`<a href="${addressOf(path, { who: entry.who })}">${entry.who}</a>`} <span class="hint">${actors[entry.who_type]}</span></th>
    <td>${auditActions[entry.what] ?? entry.what}</td>
    <td class="wrap">${entry.target ?? '–'}</td>
    <td>${outcomes[entry.outcome]}</td>
    <td>${entry.address ?? '–'}</td>
  </tr>`
}
