import { type Content, renderContent } from './content.ts'

/** An import that has ended, as its mail tells of it (service.md, Events). */
export interface EndedImport {
  importId: string
  appName: string
  rowsTotal: number
  rowsApplied: number
  rowsFailed: number
  /** Why it failed; undefined for a completed one. */
  error: string | undefined
  /** Where the error file is, and for how many days; undefined where no row was invalid. */
  errorFile: { url: string; days: number } | undefined
}

/** The import notification e-mail. */
export function importNotification(ended: EndedImport): Content {
  const count = new Intl.NumberFormat('en-US')
  const rows = (n: number) => `${count.format(n)} ${n === 1 ? 'row' : 'rows'}`
  const failed = ended.error !== undefined
  const subject = failed
    ? `Profile import failed: ${ended.error}`
    : `Profile import completed: ${rows(ended.rowsApplied)} applied${
        ended.rowsFailed > 0 ? `, ${rows(ended.rowsFailed)} with errors` : ''
      }`
  const opening = failed
    ? `A profile import of ${ended.appName} has failed: ${ended.error}`
    : `A profile import of ${ended.appName} has completed.`
  const applied =
    failed && ended.rowsApplied > 0
      ? 'The rows that had been read before the failure stay applied.'
      : failed
        ? 'Nothing was applied.'
        : undefined
  const summary = [
    `Rows read: ${count.format(ended.rowsTotal)}`,
    `Rows applied: ${count.format(ended.rowsApplied)}`,
    `Rows with errors: ${count.format(ended.rowsFailed)}`,
    `Import: ${ended.importId}`,
  ].join('\n')
  const errors =
    ended.errorFile === undefined
      ? undefined
      : `The error file holds every row that was not applied, with the reasons in its first column. Correct the rows and upload the file again: that column is ignored. The link is good for ${ended.errorFile.days} days.`
  const paragraphs = [opening, applied, summary, errors].filter((text) => text !== undefined)
  return renderContent(
    singleLine(subject),
    paragraphs,
    ended.errorFile === undefined ? undefined : { url: ended.errorFile.url, label: 'Download the error file' },
  )
}

/** A subject is one header line: errors may quote a file's header, which may hold anything. */
function singleLine(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ')
  return line.length > 200 ? `${line.slice(0, 199).toWellFormed()}…` : line
}
