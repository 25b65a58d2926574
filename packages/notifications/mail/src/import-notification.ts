import {
  fileMessages,
  type ImportChanges,
  type ImportView,
  type ImportWarning,
  keyMessages,
  withoutFigures,
} from '@sluice/contract'
import { changeFacts } from './change-facts.ts'
import { type Content, renderContent } from './content.ts'
import { quoted, subjectWithNames } from './quoted.ts'

/** An import that has ended, with the facts that its mail needs (service.md, Events). */
export interface EndedImport {
  importId: string
  /** The name that the file has for its owner; undefined if it is not known. */
  fileName: string | undefined
  appName: string
  rowsTotal: number
  rowsApplied: number
  rowsFailed: number
  /** Applied rows that changed a profile. */
  rowsChanged: number
  /** What the rows changed, or would change; undefined if it was not counted. */
  changes: ImportChanges | undefined
  state: 'completed' | 'failed' | 'cancelled'
  /** The file was only checked. */
  dryRun: boolean
  /** An undo takes back what another import changed. */
  source: ImportView['source']
  /** Why the import failed; undefined if it did not fail. */
  error: string | undefined
  /** The link to the error file, and the days for which it is valid; undefined if there is no error file. */
  errorFile: { url: string; days: number } | undefined
  /** The first row that the error file omits; undefined if it omits none. */
  errorFileEndsBeforeRow: number | undefined
  /** Number of rows with errors by message. */
  errorCounts: Readonly<Record<string, number>>
  /** The import's page in the dashboard; undefined if its address is not known. */
  pageUrl: string | undefined
  /**
   * About inferred types that may be wrong, and ignored columns. Mails omit the examples, because a sent mail cannot be
   * deleted.
   */
  warnings: readonly Pick<ImportWarning, 'key' | 'message'>[]
}

/**
 * Returns the mail that an import has ended (service.md, Events): the counts of its rows, the commonest errors, the
 * link to its error file if there is one, and what stays applied if it did not complete (design.md §3, Gzip). Only a
 * mail about errors has links. The error file's link is the first one, so that programs find it.
 */
export function importNotification(ended: EndedImport): Content {
  const { subject, opening } = headline(ended)
  const facts = {
    ...(ended.fileName !== undefined && { File: quoted(ended.fileName) }),
    'Rows read': count.format(ended.rowsTotal),
    ...(ended.dryRun
      ? { 'Rows without errors': count.format(ended.rowsTotal - ended.rowsFailed) }
      : {
          'Rows applied': count.format(ended.rowsApplied),
          'Rows that changed a profile': count.format(ended.rowsChanged),
        }),
    'Rows with errors': count.format(ended.rowsFailed),
    ...changeFacts(ended.changes),
    Import: ended.importId,
  }
  const errors =
    ended.errorFile === undefined
      ? undefined
      : `The error file holds ${ended.errorFileEndsBeforeRow === undefined ? 'every row that was' : 'rows that were'} not applied, with the reasons in its first column. ${useOfErrorFile(ended)} The link is valid for ${ended.errorFile.days} ${ended.errorFile.days === 1 ? 'day' : 'days'}.`
  const blocks = [
    ...[opening, whatStays(ended), { facts }, commonestErrors(ended), errors],
    ...[whatIsMissing(ended), whatMayBeWrong(ended)],
  ].filter((block) => block !== undefined)
  return renderContent(subjectWithNames(subject, ended), blocks, ...links(ended))
}

function useOfErrorFile({ dryRun, source }: EndedImport): string {
  if (source === 'undo') return 'These values stay as they are: the file is not for importing.'
  if (dryRun) return 'Correct the rows in your file before you import it: the error file has only these rows.'
  const converted =
    source === 'dashboard' ? ' If your browser converted the file, it has commas and the converted values.' : ''
  return `Correct the rows and upload the error file: that column is ignored.${converted}`
}

function links({ errorFile, pageUrl, rowsFailed, state }: EndedImport) {
  const hasErrors = rowsFailed > 0 || state === 'failed'
  return [
    ...(errorFile === undefined ? [] : [{ url: errorFile.url, label: 'Download the error file' }]),
    ...(pageUrl === undefined || !hasErrors ? [] : [{ url: pageUrl, label: 'See the import' }]),
  ]
}

/** Number of error messages that a mail lists. */
const shownErrors = 3

/** Returns the commonest error messages with their numbers of rows, one in a line; undefined if there are none. */
function commonestErrors({ errorCounts }: EndedImport): string | undefined {
  const all = Object.entries(errorCounts).sort(([, one], [, other]) => other - one)
  if (all.length === 0) return undefined
  const lines = all.slice(0, shownErrors).map(([message, number]) => `${quoted(message, 150)}: ${rows(number)}`)
  const title = all.length > shownErrors ? 'The commonest errors:' : 'Errors:'
  return [title, ...lines].join('\n')
}

function headline(ended: EndedImport): { subject: string; opening: string } {
  const [article, name] = nameOf(ended)
  const reason = ended.error === undefined ? { fixed: counts(ended), whole: undefined } : reasonOf(ended.error)
  return {
    subject: `${name[0]?.toUpperCase()}${name.slice(1)} ${ended.state}${reason.fixed === undefined ? '' : `: ${reason.fixed}`}`,
    opening: `${article} ${name} of the app ${quoted(ended.appName)} ${ended.state === 'cancelled' ? 'was' : 'has'} ${ended.state}${reason.whole === undefined ? '.' : `: ${reason.whole}`}`,
  }
}

function nameOf({ dryRun, source }: EndedImport): [article: string, name: string] {
  if (source === 'undo') return dryRun ? ['A', 'dry run of an undo'] : ['An', 'undo of a profile import']
  return ['A', `profile ${dryRun ? 'dry run' : 'import'}`]
}

/** Messages that may appear in a subject because they contain no text of the file. Every figure in them is 0 here. */
const fixedReasons = new Set(
  [
    fileMessages.empty,
    fileMessages.notGzip,
    fileMessages.corrupt,
    fileMessages.tooLarge(0),
    fileMessages.uncompressedTooLarge(0),
    fileMessages.wrongSize(0, 0),
    fileMessages.headerTooLarge,
    fileMessages.headerQuote,
    fileMessages.noLineBreak,
    fileMessages.emptyColumns,
    fileMessages.noUserIdColumn,
    fileMessages.tooManyKeys(0),
    fileMessages.fileGone,
    fileMessages.fileReplaced,
    fileMessages.changesFileGone,
    fileMessages.tooManyAttempts(0),
    ...['', 'ms', 's', 'm', 'h', 'd'].map((unit) => fileMessages.notApproved(`0${unit}`)),
  ].map(withoutFigures),
)

/** Maximum number of characters that a mail shows of a message with names from a file. */
const longestReason = 300

/**
 * Returns why an import failed, in two forms. `fixed` is for the subject and contains no text of the file. `whole` is
 * for the body, and is quoted if it contains text of the file.
 */
function reasonOf(error: string): { fixed: string | undefined; whole: string } {
  if (fixedReasons.has(withoutFigures(error))) return { fixed: error, whole: error }
  return { fixed: withoutNames(error), whole: quoted(error, longestReason) }
}

/** Returns a message without the names from the file; undefined if its form is not known. */
function withoutNames(error: string): string | undefined {
  const leading = [
    fileMessages.duplicateColumns(''),
    fileMessages.standardProfiles(''),
    fileMessages.declaredColumnsMissing(''),
    fileMessages.keysNotRegistered(''),
  ]
  const trailing = [fileMessages.columnsTooLong(''), fileMessages.columnsNotUtf8('')]
  const start = leading.find((text) => error.startsWith(text))
  if (start !== undefined) return start.replace(/:? $/, '')
  if (error.includes(fileMessages.otherType('', ''))) return 'a column is registered with another type'
  const end = trailing.find((text) => error.endsWith(text))
  return end === undefined ? undefined : `a column${end}`
}

/** Returns the counts in words: `1,200 rows applied, 3 rows with errors`. */
function counts({ dryRun, rowsTotal, rowsApplied, rowsFailed }: EndedImport): string {
  const applied = dryRun ? `${rows(rowsTotal - rowsFailed)} without errors` : `${rows(rowsApplied)} applied`
  return rowsFailed > 0 ? `${applied}, ${rows(rowsFailed)} with errors` : applied
}

/** Returns a sentence about the applied rows; undefined if the counts say everything. */
function whatStays({ dryRun, state, rowsApplied }: EndedImport): string | undefined {
  if (dryRun) return 'The file was only checked: nothing was applied.'
  if (state === 'completed') return undefined
  if (rowsApplied === 0) return 'Nothing was applied.'
  return `The rows that had been applied before the ${state === 'failed' ? 'failure' : 'cancellation'} stay applied: ${count.format(rowsApplied)}.`
}

/**
 * Returns a sentence about the rows with errors that the error file omits (design.md §3, Error file's size); undefined
 * if it omits none.
 */
function whatIsMissing({ errorFile, errorFileEndsBeforeRow: row }: EndedImport): string | undefined {
  if (row === undefined) return undefined
  return errorFile === undefined
    ? 'There is no error file: the rows with errors were counted, but could not be kept.'
    : `The error file ends before row ${count.format(row)} of the file, because it would become too large. Rows with errors from there on were counted, but not kept.`
}

/** Maximum number of warnings that a mail lists. */
const maxWarnings = 20

/** Returns an introduction and the warnings about columns, one in a line; undefined if there are none. */
function whatMayBeWrong({ warnings, dryRun }: EndedImport): string | undefined {
  // second-day.md §1, Warnings.
  if (warnings.length === 0) return undefined
  const advice = dryRun
    ? 'To choose them, declare the types of these columns when you import the file.'
    : 'The type of a registered key is final. Declare the types of new columns to choose them.'
  const areOfTypes = warnings.some(({ message }) => message !== keyMessages.columnIgnored)
  const lines = warnings.slice(0, maxWarnings).map(({ key, message }) => `${quoted(key)}: ${message}`)
  const more = warnings.length - lines.length
  return [
    areOfTypes ? `Types that were inferred from the first rows may be wrong. ${advice}` : 'Columns are ignored.',
    ...lines,
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n')
}

const count = new Intl.NumberFormat('en-US')

function rows(number: number): string {
  return `${count.format(number)} ${number === 1 ? 'row' : 'rows'}`
}
