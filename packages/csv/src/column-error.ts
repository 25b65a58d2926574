import { FileError } from './file-error.ts'

/**
 * Returns the error of a file with wrong columns. Accepts the names, the columns of the file, and the message about a
 * list of names. The log has only their number.
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
 * Lists the first of some columns in a message and counts the others. `describe` may add to the name of each.
 *
 * @example
 * ```ts
 * listColumns(['a', 'b'], ['user_id', 'a', 'b'], (shown) => `column ${shown}`) // → "column a, column b"
 * ```
 */
export function listColumns(
  wrong: readonly string[],
  columns: readonly string[],
  describe: (shown: string, name: string) => string = (name) => name,
): string {
  return listNames(wrong, (name) => describe(shown(name, columns), name))
}

/** A message becomes the subject of a mail and the answer of v2, so it lists at most this many names. */
const maxListedNames = 10

/** Lists the first names in a message and counts the others. */
export function listNames<Column>(wrong: readonly Column[], nameOf: (column: Column) => string): string {
  const more = wrong.length - maxListedNames
  const listed = wrong.slice(0, maxListedNames).map(nameOf)
  return `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Characters of a name that a message shows. */
const maxShownCharacters = 1_000

/**
 * Returns a name as a message shows it; very long names are cut. A column with control characters is shown by its
 * position, because a terminal or mail program could interpret them as commands. A name that is no column of the file
 * has no position: its control characters are replaced.
 */
function shown(name: string, columns: readonly string[]): string {
  const index = columns.indexOf(name)
  if (index !== -1 && /[^\P{Cc}\t\n\r]/u.test(name)) return position(index)
  const start = Array.from(name.slice(0, 2 * maxShownCharacters))
    .slice(0, maxShownCharacters)
    .join('')
    .replaceAll(/[^\P{Cc}\t\n\r]/gu, '\ufffd')
  return start.length < name.length ? `${start}…` : start
}

/** Returns what a message calls a column whose name cannot be shown. */
export function position(index: number): string {
  return `column ${index + 1}`
}
