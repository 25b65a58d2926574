import { fileMessages, serviceErrorsColumn, standardPrefix, userIdColumn } from '@sluice/contract/import-messages'
import { limits } from '@sluice/contract/limits'
import { isOfType, TextInference } from '@sluice/profiles/text-inference'
import type { Preview } from './csv-preview.ts'

/** The registered keys of an app with their types. */
export type Keys = Readonly<Record<string, 'string' | 'int' | 'decimal' | 'datetime'>>

/** The way an import would treat a column. */
export interface ColumnCheck {
  name: string
  /** The type, or the purpose of a column without a type, in words. */
  type: string
  /** The key is registered, so its type is final. */
  isRegistered: boolean
  /** Number of rows of the preview whose value does not have the type. */
  misfits: number
  /** The column is a reason to refuse the file. */
  isRefused: boolean
}

/**
 * Checks the columns of a preview with the rules of the import. `problems` are the reasons to refuse the whole file, in
 * the words of the import, which names only the first of them.
 */
export function checkColumns({ header, rows }: Preview, keys: Keys): { columns: ColumnCheck[]; problems: string[] } {
  const doubled = [...new Set(header.filter((name, index) => name !== '' && header.indexOf(name) !== index))]
  const standard = header.filter((name) => name.startsWith(standardPrefix))
  const long = header.filter((name) => [...name].length > limits.keyLength)
  const problems = [
    header.includes('') && fileMessages.emptyColumns,
    doubled.length > 0 && fileMessages.duplicateColumns(doubled.join(', ')),
    !header.includes(userIdColumn) && fileMessages.noUserIdColumn,
    long.length > 0 && fileMessages.columnsTooLong(long.map((name) => `${name.slice(0, 40)}…`).join(', ')),
    standard.length > 0 && fileMessages.standardProfiles(standard.join(', ')),
  ].filter((problem) => problem !== false)
  const refused = new Set([...doubled, ...standard, ...long, ''])
  const columns = header.map((name, index) => ({
    ...checkColumn(
      name,
      rows.map((row) => row[index] ?? ''),
      keys,
    ),
    isRefused: refused.has(name),
  }))
  return { columns, problems }
}

function checkColumn(name: string, values: readonly string[], keys: Keys): Omit<ColumnCheck, 'isRefused'> {
  if (name === userIdColumn) return { name, type: 'identifies the user', isRegistered: false, misfits: 0 }
  if (name === serviceErrorsColumn) return { name, type: 'ignored', isRegistered: false, misfits: 0 }
  const registered = Object.hasOwn(keys, name) ? keys[name] : undefined
  if (registered !== undefined) {
    const misfits = values.filter((value) => value !== '' && !isOfType(value, registered)).length
    return { name, type: registered, isRegistered: true, misfits }
  }
  const inference = new TextInference()
  for (const value of values) inference.add(value)
  return { name, type: inference.type() ?? 'no value yet', isRegistered: false, misfits: 0 }
}
