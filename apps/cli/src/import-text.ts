import type { ImportView, ImportWarning } from '@sluice/contract'
import { count, fields, localTime, table } from './output.ts'

/** Describes an import for people. */
export function describeImport(view: ImportView): string {
  const facts = fields({
    Import: view.import_id,
    File: view.file_name,
    State: view.state,
    ...(view.retry_of !== undefined && { 'Retry of': view.retry_of }),
    ...(view.paused && { Paused: 'imports of the app are paused' }),
    'Rows read': count(view.rows_total),
    ...(view.dry_run
      ? { 'Dry run': 'nothing is applied' }
      : { 'Rows applied': count(view.rows_applied), 'Rows changed': count(view.rows_changed) }),
    'Rows with errors': count(view.rows_failed),
    Error: view.error,
    'Error file': view.error_file_url,
    ...(view.error_file_ends_before_row !== undefined && {
      'Error file ends before row': view.error_file_ends_before_row,
    }),
    Types: Object.entries(view.types)
      .map(([key, type]) => `${key}: ${type}`)
      .join(', '),
    Requested: localTime(view.requested_at),
    Started: localTime(view.started_at),
    Finished: localTime(view.finished_at),
  })
  return view.warnings.length === 0 ? facts : `${facts}\n\n${table(view.warnings.map(warningRow), '')}`
}

function warningRow({ key, message, examples }: ImportWarning) {
  return { KEY: key, WARNING: message, EXAMPLES: examples.join(', ') }
}
