import { importStates, isImportState } from '@sluice/contract'
import { type Content, type Html, html } from '@sluice/html'
import {
  type FilterTexts,
  type FoundImport,
  type FoundImports,
  findImports,
  isCancellable,
  parseImportFilter,
  shortestText,
} from '@sluice/imports'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DashboardContext } from '../context.ts'
import { addressOf, option, timeProblems } from '../layout/filters.ts'
import { count, duration, time } from '../layout/format.ts'
import type { Area } from '../layout/navigation.ts'
import { sendPage } from '../layout/page.ts'
import { importName, sourceName, sources, stateBadge, stateName } from './labels.ts'
import { cut } from './report-part.ts'
import { percentRead, readTotalBytes } from './snapshot.ts'

/** The number of imports on one page (second-day.md §6, All imports). */
const pageSize = 50

/** A list of imports: of one app, or of all apps. */
export interface ImportList {
  title: string
  area: Area
  address: string
  /** The app; undefined for all apps. */
  appId?: number
  /** What the page shows above the list. */
  above?: Content
}

/** A request for a list. The query has the filters, and the position of the page. */
export type ListRequest = FastifyRequest<{ Querystring: FilterTexts & { after?: string } }>

const filterNames = ['app', 'state', 'source', 'text', 'errors', 'dry', 'ended', 'since', 'until'] as const

const problems: Record<keyof FilterTexts, string> = {
  app: 'The app must be a number.',
  state: 'There is no such state.',
  source: 'There is no such source.',
  text: `The text must have at least ${shortestText} characters.`,
  errors: 'There is no such choice of errors.',
  dry: 'There is no such choice of dry runs.',
  ended: 'There is no such time of the end.',
  ...timeProblems,
}

/** Returns the filters of a request as text; empty without one. */
export function filterTextsOf({ query }: ListRequest): FilterTexts {
  return Object.fromEntries(filterNames.map((name) => [name, String(query[name] ?? '')]))
}

/** Answers with a page of a list of imports, with filters. The status is 400 if a filter is not valid. */
export async function sendList(
  request: ListRequest,
  reply: FastifyReply,
  { db, apiUrl, storage, log }: Pick<DashboardContext, 'db' | 'apiUrl' | 'storage' | 'log'>,
  list: ImportList,
): Promise<FastifyReply> {
  const { query } = request
  const texts = filterTextsOf(request)
  if (list.appId !== undefined) texts.app = ''
  const after = query.after === undefined ? undefined : String(query.after)
  const filter = parseImportFilter(texts)
  const invalid = 'invalid' in filter ? filter.invalid : undefined
  const found =
    'invalid' in filter
      ? { imports: [], next: undefined }
      : await findImports(
          db,
          apiUrl,
          { ...filter, ...(list.appId && { appId: list.appId }) },
          { after, limit: pageSize },
        )
  const percents = found.imports.map(async (each) =>
    percentRead(each.position, await readTotalBytes({ storage, log }, each)),
  )
  return sendPage(invalid === undefined ? reply : reply.code(400), {
    title: list.title,
    area: list.area,
    scripts: ['live-import-list.ts'],
    content: html`
      ${list.above}
      ${invalid !== undefined && html`<p class="notice bad" role="alert">${problems[invalid]}</p>`}
      ${list.appId === undefined ? filterForm(list, texts) : foldedFilters(list, texts)}
      ${listContent(list, texts, { ...found, percents: await Promise.all(percents) }, after === undefined)}`,
  })
}

/** Renders the imports that match. A script fetches this part again as long as one of them waits or runs. */
function listContent(
  list: ImportList,
  texts: FilterTexts,
  { imports, next, percents }: FoundImports & { percents: Percents },
  isFirst: boolean,
): Html {
  const hasNone = isFirst && Object.values(texts).every((text) => text === '')
  return html`<div data-live-list="${imports.some(({ place }) => place !== null) ? 'moving' : 'still'}">
      ${imports.length === 0 ? html`<p class="card">${hasNone ? 'No imports yet.' : `No ${isFirst ? '' : 'older '}import matches.`}</p>` : table(list, imports, percents)}
    </div>
    <p class="actions">
      ${list.appId === undefined && imports.length > 0 && manyButton(texts)}
      ${!isFirst && html`<a class="button" href="${addressOf(list.address, texts)}">Newest</a>`}
      ${next !== undefined && html`<a class="button" href="${addressOf(list.address, { ...texts, after: next })}">Older</a>`}
    </p>`
}

/** Renders the link to the page that retries or cancels all imports of the filter, if its state permits one of them. */
function manyButton(texts: FilterTexts): Html | undefined {
  const { state = '' } = texts
  const verb = ['failed', 'cancelled'].includes(state)
    ? 'Retry'
    : isImportState(state) && isCancellable(state) && 'Cancel'
  if (!verb) return undefined
  return html`<a class="button" href="${addressOf(`/imports/${verb.toLowerCase()}`, texts)}">${verb} all…</a>`
}

/** Renders the filters of an app's imports. They are folded unless one is set, as they fill the screen of a phone. */
function foldedFilters(list: ImportList, texts: FilterTexts): Html {
  const isSet = Object.values(texts).some((text) => text !== '')
  return html`<details class="card"${isSet && html` open`}><summary>Filter</summary>${filterForm(list, texts)}</details>`
}

function filterForm(
  { address, appId }: ImportList,
  { app, state, source, text, errors, dry, ended, since, until }: FilterTexts,
): Html {
  return html`<form method="get" action="${address}" class="search" role="search">
    ${appId === undefined && html`<label>App <input name="app" inputmode="numeric" value="${app}"></label>`}
    <label>State <select name="state">${option('', 'any', state)}${importStates.map((each) => option(each, stateName(each), state))}</select></label>
    <label>Source <select name="source">${option('', 'any', source)}${Object.entries(sources).map(([value, label]) => option(value, label, source))}</select></label>
    <label>File name or ID <input type="search" name="text" minlength="${shortestText}" value="${text}"></label>
    <label>Errors <select name="errors">${option('', 'any', errors)}${option('some', 'rows with errors', errors)}</select></label>
    <label>Dry runs <select name="dry">${option('', 'any', dry)}${option('only', 'only dry runs', dry)}${option('none', 'no dry runs', dry)}</select></label>
    <label>Ended <select name="ended">${option('', 'any time', ended)}${option('24h', 'in the last 24 hours', ended)}</select></label>
    <label>Requested since <input type="date" name="since" value="${since}"></label>
    <label>and before <input type="date" name="until" value="${until}"></label>
    <button>Find</button>
  </form>`
}

/** How much of the file of each import is read. */
type Percents = readonly (number | undefined)[]

function table({ appId }: ImportList, imports: readonly FoundImport[], percents: Percents): Html {
  const isOfAll = appId === undefined
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Imports"><table class="list">
    <thead><tr>
      <th scope="col">Import</th>${isOfAll && html`<th scope="col">App</th>`}<th scope="col">State</th><th scope="col">Source</th>
      <th scope="col" class="number">Rows</th><th scope="col" class="number">Errors</th>
      <th scope="col" class="number">Duration</th><th scope="col">Requested</th>
    </tr></thead>
    <tbody>${imports.map((each, index) => row(each, isOfAll, percents[index]))}</tbody>
  </table></div>`
}

function row(found: FoundImport, isOfAll: boolean, percent: number | undefined): Html {
  const { appId, appName, view, place, tookMs, requestedBy, commonestError } = found
  return html`<tr>
    <th scope="row" class="wrap"><a href="/apps/${appId}/imports/${view.import_id}">${importName(found)}</a>${
      commonestError !== null && html`<br><span class="hint">${cut(commonestError)}</span>`
    }</th>
    ${isOfAll && html`<td>${appName} <span class="hint">${appId}</span></td>`}
    <td>${stateBadge(view)}${percent !== undefined && html` <span class="hint">${percent}\u00a0%</span>`}${
      place !== null &&
      view.state !== 'processing' &&
      view.state !== 'held' &&
      html` <span class="hint">position ${place}</span>`
    }</td>
    <td>${sourceName(view)}${requestedBy !== null && html`<br><span class="hint">${requestedBy}</span>`}</td>
    <td class="number" data-name="Rows">${count(view.rows_total)}</td>
    <td class="number" data-name="Errors">${view.rows_failed > 0 ? html`<span class="bad-text">${count(view.rows_failed)}</span>` : '0'}</td>
    <td class="number" data-name="Duration">${tookMs === null || view.state === 'held' ? '–' : duration(tookMs)}</td>
    <td>${time(new Date(view.requested_at))}</td>
  </tr>`
}
