import { type Content, renderContent } from './content.ts'
import { singleLine } from './single-line.ts'

/** An import that has ended, as its mail tells of it (service.md, Events). */
export interface EndedImport {
  importId: string
  appName: string
  rowsTotal: number
  rowsApplied: number
  rowsFailed: number
  state: 'completed' | 'failed' | 'cancelled'
  /** The file was only checked. */
  dryRun: boolean
  /** Why it failed; undefined for any other. */
  error: string | undefined
  /** Where the error file is, and for how many days; undefined where no row was invalid. */
  errorFile: { url: string; days: number } | undefined
  /** The first row that the error file leaves out; undefined if it leaves out none. */
  errorFileEndsBeforeRow: number | undefined
}

/** The import notification e-mail. */
export function importNotification(ended: EndedImport): Content {
  const { subject, opening } = headline(ended)
  const facts = {
    'Rows read': count.format(ended.rowsTotal),
    ...(ended.dryRun
      ? { 'Rows without errors': count.format(ended.rowsTotal - ended.rowsFailed) }
      : { 'Rows applied': count.format(ended.rowsApplied) }),
    'Rows with errors': count.format(ended.rowsFailed),
    Import: ended.importId,
  }
  const errors =
    ended.errorFile === undefined
      ? undefined
      : `The error file holds ${ended.errorFileEndsBeforeRow === undefined ? 'every row that was' : 'rows that were'} not applied, with the reasons in its first column. Correct the rows and upload the file again: that column is ignored. The link is good for ${ended.errorFile.days} days.`
  const blocks = [opening, whatStays(ended), { facts }, errors, whatIsMissing(ended)].filter(
    (block) => block !== undefined,
  )
  return renderContent(
    singleLine(subject),
    blocks,
    ended.errorFile === undefined ? undefined : { url: ended.errorFile.url, label: 'Download the error file' },
  )
}

function headline(ended: EndedImport): { subject: string; opening: string } {
  const what = ended.dryRun ? 'dry run' : 'import'
  const failure = ended.error === undefined ? '' : `: ${ended.error}`
  return {
    subject: `Profile ${what} ${ended.state}: ${ended.error ?? counts(ended)}`,
    opening: `A profile ${what} of ${ended.appName} ${ended.state === 'cancelled' ? 'was' : 'has'} ${ended.state}${failure || '.'}`,
  }
}

/** `1,200 rows applied, 3 rows with errors` */
function counts({ dryRun, rowsTotal, rowsApplied, rowsFailed }: EndedImport): string {
  const applied = dryRun ? `${rows(rowsTotal - rowsFailed)} without errors` : `${rows(rowsApplied)} applied`
  return rowsFailed > 0 ? `${applied}, ${rows(rowsFailed)} with errors` : applied
}

/** What became of the rows, where that is not plain from the counts. */
function whatStays({ dryRun, state, rowsApplied }: EndedImport): string | undefined {
  if (dryRun) return 'The file was only checked: nothing was applied.'
  if (state === 'completed') return undefined
  if (rowsApplied === 0) return 'Nothing was applied.'
  return `The rows that had been applied before the ${state === 'failed' ? 'failure' : 'cancellation'} stay applied: ${count.format(rowsApplied)}.`
}

/** Which rows are not in the error file, although they have errors. */
function whatIsMissing({ errorFile, errorFileEndsBeforeRow: row }: EndedImport): string | undefined {
  if (row === undefined) return undefined
  return errorFile === undefined
    ? 'There is no error file: the rows with errors were counted, but could not be kept.'
    : `The error file ends before row ${count.format(row)} of the file, because it would become too large. Rows with errors from there on were counted, but not kept.`
}

const count = new Intl.NumberFormat('en-US')

function rows(number: number): string {
  return `${count.format(number)} ${number === 1 ? 'row' : 'rows'}`
}
