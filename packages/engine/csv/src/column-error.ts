import { listNames, unprintable } from '@sluice/contract/name'
import { FileError } from './file-error.ts'

/**
 * Returns the error of a file with wrong columns (design.md §3, Placeholders in messages). Accepts the names of the
 * wrong columns, all columns of the file, and a function that writes the message around a list of names. The message
 * for the log has the number of names instead, because logs contain no text of a file.
 *
 * @example
 * ```ts
 * const error = columnError(['a', 'b'], ['user_id', 'a', 'b'], (names) => `duplicate columns ${names}`)
 * error.message // → "duplicate columns a, b"
 * ```
 */
export function columnError(
  wrong: readonly string[],
  columns: readonly string[],
  messageOf: (names: string) => string,
): FileError {
  const forLog = messageOf(`[${wrong.length} names]`)
  return new FileError(messageOf(listColumns(wrong, columns)), { forLog })
}

/**
 * Lists the names of columns for a message: at most ten names, then the number of further columns. `describe` may add
 * to the name of each listed column.
 *
 * @example
 * ```ts
 * listColumns(['a', 'b'], ['user_id', 'a', 'b'], (name) => `column ${name}`) // → "column a, column b"
 * ```
 */
export function listColumns(
  wrong: readonly string[],
  columns: readonly string[],
  describe: (shownName: string, name: string) => string = (shownName) => shownName,
): string {
  return listNames(wrong, (name) => describe(shown(name, columns), name))
}

/** Maximum number of characters of a name that a message shows. */
const maxShownCharacters = 1_000

/** Tabs and line breaks stay, because they are part of a name. */
const hidden = new RegExp(`(?![\\t\\n\\r])${unprintable.source}`, 'gu')

/**
 * Returns a name as a message shows it; very long names are cut. A column with unprintable characters is shown by its
 * position, because a terminal or mail program could interpret them as commands, or show the message in another order.
 * A name that is no column of the file has no position: these characters are replaced.
 */
function shown(name: string, columns: readonly string[]): string {
  const index = columns.indexOf(name)
  if (index !== -1 && name.search(hidden) !== -1) return position(index)
  const start = Array.from(name.slice(0, 2 * maxShownCharacters))
    .slice(0, maxShownCharacters)
    .join('')
    .replaceAll(hidden, '\ufffd')
  return start.length < name.length ? `${start}…` : start
}

/** Returns what a message calls a column whose name cannot be shown. */
export function position(index: number): string {
  return `column ${index + 1}`
}
