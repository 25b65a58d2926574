import { fileMessages, serviceErrorsColumn, standardPrefix, userIdColumn } from '@sluice/contract/import-messages'
import { limits } from '@sluice/contract/limits'
import { isOfType, TextInference } from '@sluice/profiles/text-inference'
import type { Preview } from './csv-preview.ts'

/** The types of keys. */
export const types = ['string', 'int', 'decimal', 'datetime'] as const

export type Type = (typeof types)[number]

/** The registered keys of an app with their types. */
export type Keys = Readonly<Record<string, Type>>

/** The settings that decide, together with the file, what an import does with columns. */
export interface ImportRules {
  keys: Keys
  /** Whether the app registers new keys, or refuses files that have any. */
  newKeys: 'register' | 'refuse'
  /** A cell with this text removes a value from the profile. Empty if there is no such text. */
  clearMarker: string
}

/** A warning about the inferred type. */
export interface Warning {
  message: string
  examples: readonly string[]
}

/** How an import would treat a column. */
export interface ColumnCheck {
  name: string
  /** The type, or the purpose of a column without a type, in words. */
  type: string
  /** The key is registered, so its type is final. */
  isRegistered: boolean
  /**
   * The type that the import would register for a new key; undefined if no value tells the type yet. A person may
   * choose another type.
   */
  inferred?: Type | undefined
  isNew: boolean
  /** Why the inferred type may be wrong. */
  warnings: readonly Warning[]
  /** Number of rows of the preview whose value does not have the registered type. */
  misfits: number
  /** Returns the number of rows whose value does not fit the given type. */
  misfitsIn: (type: Type) => number
  /** The column is a reason to refuse the file. */
  isRefused: boolean
}

/**
 * Checks the columns of a preview with the rules of the import. `problems` are all reasons to refuse the whole file, in
 * the words of the import. The import itself names only the first reason.
 */
export function checkColumns(
  { header, rows }: Preview,
  rules: ImportRules,
): { columns: ColumnCheck[]; problems: string[] } {
  const doubled = [...new Set(header.filter((name, index) => name !== '' && header.indexOf(name) !== index))]
  const standard = header.filter((name) => name.startsWith(standardPrefix))
  const long = header.filter((name) => [...name].length > limits.keyLength)
  const refused = new Set([...doubled, ...standard, ...long, ''])
  const columns = header.map((name, index) => ({
    ...checkColumn(
      name,
      rows.map((row) => row[index] ?? ''),
      rules,
    ),
    isRefused: refused.has(name),
  }))
  const unknown = columns.filter(({ isNew, isRefused }) => isNew && !isRefused).map(({ name }) => name)
  const problems = [
    header.includes('') && fileMessages.emptyColumns,
    doubled.length > 0 && fileMessages.duplicateColumns(doubled.join(', ')),
    !header.includes(userIdColumn) && fileMessages.noUserIdColumn,
    long.length > 0 && fileMessages.columnsTooLong(long.map((name) => `${name.slice(0, 40)}…`).join(', ')),
    standard.length > 0 && fileMessages.standardProfiles(standard.join(', ')),
    rules.newKeys === 'refuse' && unknown.length > 0 && fileMessages.keysNotRegistered(unknown.join(', ')),
  ].filter((problem) => problem !== false)
  return { columns, problems }
}

function checkColumn(
  name: string,
  cells: readonly string[],
  { keys, clearMarker }: ImportRules,
): Omit<ColumnCheck, 'isRefused'> {
  const values = cells.filter((value) => value !== '' && value !== clearMarker)
  const misfitsIn = (type: Type) => values.filter((value) => !isOfType(value, type)).length
  const column = { name, isRegistered: false, isNew: false, misfits: 0, misfitsIn, warnings: [] }
  if (name === userIdColumn) return { ...column, type: 'identifies the user' }
  if (name === serviceErrorsColumn) return { ...column, type: 'ignored' }
  const registered = Object.hasOwn(keys, name) ? keys[name] : undefined
  if (registered !== undefined)
    return { ...column, type: registered, isRegistered: true, misfits: misfitsIn(registered) }
  const inference = new TextInference()
  for (const value of values) inference.add(value)
  const inferred = inference.type()
  return { ...column, type: inferred ?? 'no value yet', inferred, isNew: true, warnings: inference.warnings() }
}
