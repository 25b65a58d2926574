import { importStates } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import { type FilterTexts, type FoundImport, type FoundImports, shortestText } from '@sluice/imports'
import { importName, sourceName, stateMark, stateName } from '../imports/labels.ts'
import { count, time } from '../layout/format.ts'

/** Whether the page is the first, and which filter is invalid. */
interface Place {
  isFirst: boolean
  /** The filter that is not valid. */
  invalid: keyof FilterTexts | undefined
}

const problems: Record<keyof FilterTexts, string> = {
  app: 'The app must be a number.',
  state: 'There is no such state.',
  source: 'There is no such source.',
  text: `The text must have at least ${shortestText} characters.`,
  since: 'The first time is not a time.',
  until: 'The second time is not a time.',
}

/** Renders the filters, the imports that match, and the link to the next page. */
export function allImportsContent(
  texts: FilterTexts,
  { imports, next }: FoundImports,
  { isFirst, invalid }: Place,
): Html {
  return html`
    ${invalid !== undefined && html`<p class="notice bad" role="alert">${problems[invalid]}</p>`}
    ${filterForm(texts)}
    ${imports.length === 0 ? html`<p class="card">No ${!isFirst && 'older '}import matches.</p>` : table(imports)}
    <p class="actions">
      ${!isFirst && html`<a class="button" href="${addressOf(texts)}">Newest</a>`}
      ${next !== undefined && html`<a class="button" href="${addressOf(texts, next)}">Older</a>`}
    </p>`
}

function addressOf(texts: FilterTexts, after?: string): string {
  const set = Object.entries({ ...texts, after }).filter((pair): pair is [string, string] => Boolean(pair[1]))
  return set.length === 0 ? '/imports' : `/imports?${new URLSearchParams(set)}`
}

const sources = { v3: 'API', v2: 'API (v2)', dashboard: 'Dashboard', bucket: 'Bucket' } as const

function filterForm({ app, state, source, text, since, until }: FilterTexts): Html {
  const option = (value: string, label: string, chosen: string | undefined) =>
    html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`
  return html`<form method="get" action="/imports" class="search" role="search">
    <label>App <input name="app" inputmode="numeric" value="${app}"></label>
    <label>State <select name="state">${option('', 'any', state)}${importStates.map((each) => option(each, stateName(each), state))}</select></label>
    <label>Source <select name="source">${option('', 'any', source)}${Object.entries(sources).map(([value, label]) => option(value, label, source))}</select></label>
    <label>File name or ID <input type="search" name="text" minlength="${shortestText}" value="${text}"></label>
    <label>Requested since <input type="date" name="since" value="${since}"></label>
    <label>and before <input type="date" name="until" value="${until}"></label>
    <button>Find</button>
  </form>`
}

function table(imports: readonly FoundImport[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Imports"><table>
    <thead><tr>
      <th scope="col">Import</th><th scope="col">App</th><th scope="col">State</th><th scope="col">Source</th>
      <th scope="col" class="number">Rows</th><th scope="col" class="number">Errors</th><th scope="col">Requested</th>
    </tr></thead>
    <tbody>${imports.map(row)}</tbody>
  </table></div>`
}

function row({ appId, appName, view }: FoundImport): Html {
  return html`<tr>
    <th scope="row" class="wrap"><a href="/apps/${appId}/imports/${view.import_id}">${importName({ view })}</a></th>
    <td class="wrap">${appName} <span class="hint">${appId}</span></td>
    <td>${stateMark(view)}</td>
    <td>${sourceName(view)}</td>
    <td class="number">${count(view.rows_total)}</td>
    <td class="number">${count(view.rows_failed)}</td>
    <td>${time(new Date(view.requested_at))}</td>
  </tr>`
}
