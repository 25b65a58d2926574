import type { ImportChanges, ImportView, ImportWarning } from '@sluice/contract/answers'
import { countErrors, errorRowsLimit } from './file-rows.ts'
import { count, dateOf, fields, sorted, table } from './text.ts'

/** Describes an import for people. */
function describeImport(view: ImportView): string {
  const facts = fields({
    Import: view.import_id,
    File: view.file_name,
    State: view.state,
    ...(view.held !== null && holdOf(view.held)),
    ...(view.retry_of !== undefined && { 'Same file as': view.retry_of }),
    ...(view.undo_of !== undefined && { 'Undo of': view.undo_of }),
    ...(view.paused && { Paused: describePause(view) }),
    'Rows read': view.rows_total,
    ...(view.dry_run
      ? { 'Dry run': 'nothing is applied', 'Rows that would change something': view.rows_changed }
      : { 'Rows applied': view.rows_applied, 'Rows changed': view.rows_changed }),
    ...(view.changes !== null && { 'Users added': view.changes.rows.created, Values: describeValues(view.changes) }),
    'Rows with errors': view.rows_failed,
    Error: view.error,
    'Error file': view.error_file_url,
    'Changes file': view.changes_file_url,
    ...(view.changes_file_ends_before_row !== undefined && {
      'Changes file ends before row': view.changes_file_ends_before_row,
    }),
    ...(view.error_file_ends_before_row !== undefined && {
      'Error file ends before row': view.error_file_ends_before_row,
    }),
    Types: sorted(view.types)
      .map(([key, type]) => `${key}: ${type}`)
      .join(', '),
    Requested: dateOf(view.requested_at),
    Started: dateOf(view.started_at),
    Finished: dateOf(view.finished_at),
  })
  return view.warnings.length === 0 ? facts : `${facts}\n\n${table(view.warnings.map(warningRow), '')}`
}

/** Returns whose imports are paused, for an import that is. */
export function describePause({ all_apps_paused: isOfAll }: ImportView): string {
  return `imports of ${isOfAll ? 'all apps' : 'the app'} are paused by an operator`
}

function holdOf({ reasons, until }: NonNullable<ImportView['held']>) {
  if (until === null) return { 'Would be held': reasons.join('; ') }
  return { 'Held because': reasons.join('; '), 'Fails unless approved by': dateOf(until) }
}

function describeValues({ values }: ImportChanges): string {
  return `${count(values.added)} added, ${count(values.changed)} changed, ${count(values.removed)} removed`
}

function warningRow({ key, message, examples }: ImportWarning) {
  return { KEY: key, WARNING: message, EXAMPLES: examples.join(', ') }
}

/** Describes an import for people, with the commonest errors of its rows, which are downloaded. */
export async function describeWithErrors(view: ImportView): Promise<string> {
  return `${describeImport(view)}${await describeErrors(view)}`
}

const shownMessages = 5

/** Describes the commonest errors of the rows of an import; empty if it has no error file that can be downloaded. */
async function describeErrors({ error_file_url: url, rows_failed: failed }: ImportView): Promise<string> {
  const errors = url === null ? [] : await countErrors(url).catch(() => [])
  if (errors.length === 0) return ''
  const heading =
    failed > errorRowsLimit ? `Errors of the first ${count(errorRowsLimit)} rows of the error file` : 'Errors'
  const others = errors.length - shownMessages
  const rows = errors.slice(0, shownMessages).map(([message, number]) => ({ ROWS: number, ERROR: message }))
  return `\n\n${heading}:\n${table(rows, '')}${others > 0 ? `\nand ${count(others)} other messages` : ''}`
}
