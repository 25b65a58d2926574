import { keyMessages, userIdColumn, valueMessages } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { ErrorRows, ImportDetails } from '@sluice/imports'
import { count, counted } from '../layout/format.ts'
import { type Snapshot, shownErrorRows } from './snapshot.ts'

/** Maximum number of columns of the error file that the page shows. */
const shownColumns = 30

/** Maximum number of warnings and of columns with their types that the page shows. A header may have 50,000 columns. */
const shownWarnings = 20
const shownTypes = 500

/** Maximum number of characters of a value that the page shows. */
const shownCharacters = 120

/** Renders what is wrong with the rows of an import so far: errors by message, warnings, and the first such rows. */
export function errorsPart(appId: number, { details, errors }: Snapshot): Html {
  return html`
    ${Object.keys(details.errorCounts).length > 0 && errorChart(details)}
    ${details.view.error_file_ends_before_row !== undefined && missingRows(details.view)}
    ${details.view.warnings.length > 0 && warningList(details.view)}
    ${errors.rows.length > 0 && errorTable(appId, details, errors)}`
}

/** Number of error messages that are shown at once. The others are folded. */
const commonestErrors = 3

/** Renders the number of rows for each error message, the commonest messages first. */
function errorChart({ errorCounts, view }: ImportDetails): Html {
  const counts = Object.entries(errorCounts).sort(([, a], [, b]) => b - a)
  const most = counts[0]?.[1] ?? 1
  const others = counts.slice(commonestErrors)
  const number = counted(others.length, 'other message')
  // Each change of a running import replaces this part, which would close it again.
  const folded =
    view.finished_at === null
      ? html`<p class="hint">and ${number}</p>`
      : html`<details><summary>${number}</summary>${bars(others, most)}</details>`
  return html`<section aria-labelledby="messages">
    <h2 id="messages">Errors by message</h2>
    ${bars(counts.slice(0, commonestErrors), most)}
    ${others.length > 0 && folded}
    ${
      `${userIdColumn} ${valueMessages.unregisteredUser}` in errorCounts &&
      html`<p class="hint">Users are registered before they get values: by your developers with <code>POST /v1/users</code>, or by an operator with <code>sluice users register</code>. After that, import these rows again.</p>`
    }
  </section>`
}

/**
 * Renders numbers of rows as a bar chart. The bars are cells of a table, so that a screen reader reads the messages and
 * numbers.
 */
function bars(counts: readonly [message: string, rows: number][], most: number): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="messages"><table class="bars">
      <thead><tr><th scope="col">Message</th><th scope="col" class="number">Rows</th><th scope="col"><span class="unseen">Share</span></th></tr></thead>
      <tbody>${counts.map(
        ([message, rows]) => html`<tr>
          <th scope="row">${cut(message)}</th>
          <td class="number">${count(rows)}</td>
          <td class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(0.5, (rows / most) * 100).toFixed(1)}" height="10" rx="1"></rect></svg></td>
        </tr>`,
      )}</tbody>
    </table></div>`
}

/** Renders the warnings about inferred types (second-day.md §1, Warnings) and ignored columns. */
function warningList({ warnings, dry_run: isDryRun }: ImportDetails['view']): Html {
  const advice = isDryRun
    ? 'Choose the types of these columns when you import the file.'
    : 'The type of a registered key is final.'
  return html`<section aria-labelledby="warnings">
    <h2 id="warnings">Warnings</h2>
    ${
      warnings.some(({ message }) => message !== keyMessages.columnIgnored) &&
      html`<p>Types that were inferred from the first rows may be wrong. ${advice}</p>`
    }
    ${warnings.slice(0, shownWarnings).map(({ key, message, examples }) => html`<p class="notice warn">${cut(key)}: ${message}.${examples.length > 0 && ` For example: ${examples.join(', ')}.`}</p>`)}
    ${warnings.length > shownWarnings && furtherOnes(warnings.length - shownWarnings)}
  </section>`
}

function furtherOnes(number: number): Html {
  return html`<p class="hint">… and ${count(number)} more. The API’s status of this import has all of them.</p>`
}

/** Renders a notice about the rows that the error file omits. */
function missingRows({ error_file_ends_before_row: row = 1 }: ImportDetails['view']): Html {
  return row === 1
    ? html`<p class="notice warn">The rows with errors are counted, but could not be kept: there is no error file.</p>`
    : html`<p class="notice warn">The error file ends before row ${count(row)} of the file, because it would become too large. Rows with errors from there on are counted, but not kept.</p>`
}

function errorTable(appId: number, { view, columns }: ImportDetails, { rows }: ErrorRows): Html {
  const names = (columns ?? []).filter((name) => name !== 'SERVICE_ERRORS')
  const hidden = Math.max(0, names.length - shownColumns)
  return html`<section aria-labelledby="rows">
    <h2 id="rows">Rows with errors</h2>
    <p class="actions">
      ${
        view.error_file_url === null
          ? html`<span class="hint">A file with all these rows is available when the import has ended.</span>`
          : html`<a class="button" href="/apps/${appId}/imports/${view.import_id}/error-file">Download the error file</a>
            <span class="hint">${useOfErrorFile(view)} ${view.source === 'dashboard' && 'If your browser converted the file, the error file has commas and the converted values. '}Values are as they were sent: a spreadsheet treats values that begin with =, +, - or @ as formulas, so open the file with all columns as text.</span>`
      }
    </p>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="rows"><table class="cells">
      <caption class="hint">The first ${rows.length < shownErrorRows ? count(rows.length) : shownErrorRows} of ${count(view.rows_failed)}${hidden > 0 && `, without ${count(hidden)} of the columns`}</caption>
      <thead><tr><th scope="col">Reason</th>${names.slice(0, shownColumns).map((name) => html`<th scope="col">${cut(name)}</th>`)}</tr></thead>
      <tbody>${rows.map(
        ({ messages, values, atFault }) => html`<tr>
          <td class="bad-text">${cut(messages)}</td>
          ${names.slice(0, shownColumns).map((_, index) => cell(values[index] ?? '', atFault.includes(index)))}
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`
}

function useOfErrorFile({ dry_run: isDryRun, undo_of: undoOf }: ImportDetails['view']): string {
  if (undoOf !== undefined) return 'These values stay as they are. The file is not for importing.'
  return isDryRun
    ? 'Correct these rows in your file, and import that file: this was a dry run, and the error file has no other rows.'
    : 'Correct the rows and import the error file: its first column is ignored.'
}

/** Renders a value. A value at fault is marked, for screen readers as well. */
function cell(value: string, isAtFault: boolean): Html {
  return isAtFault
    ? html`<td class="at-fault"><span class="unseen">At fault: </span>${cut(value)}</td>`
    : html`<td>${cut(value)}</td>`
}

/** Renders the types of an import's columns; undefined if they are not known, or are those of a changes file. */
export function columnsPart({ view, columns: names }: ImportDetails): Html | undefined {
  if (names === null || view.undo_of !== undefined) return undefined
  return html`<section aria-labelledby="columns">
    <h2 id="columns">Columns</h2>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="columns"><table>
      <thead><tr><th scope="col">Column</th><th scope="col">Type</th></tr></thead>
      <tbody>${names.slice(0, shownTypes).map((name) => html`<tr><th scope="row" class="wrap">${cut(name)}</th><td>${typeOf(name, view.types)}</td></tr>`)}</tbody>
    </table></div>
    ${names.length > shownTypes && furtherOnes(names.length - shownTypes)}
  </section>`
}

function typeOf(name: string, types: ImportDetails['view']['types']): string | Html {
  if (name === 'user_id') return 'identifies the user'
  if (name === 'SERVICE_ERRORS') return html`<span class="hint">ignored</span>`
  return Object.hasOwn(types, name) ? (types[name] ?? '') : html`<span class="hint">no value yet</span>`
}

/** Shortens a value for a page. */
export function cut(text: string): string {
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters).toWellFormed()}…` : text
}
