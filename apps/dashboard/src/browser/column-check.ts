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

/** The most characters of a column name. */
const longestName = 255

/**
 * Checks the columns of a preview with the rules of the import. `problems` are the reasons to refuse the whole file.
 */
export function checkColumns({ header, rows }: Preview, keys: Keys): { columns: ColumnCheck[]; problems: string[] } {
  const doubled = header.filter((name, index) => header.indexOf(name) !== index)
  const standard = header.filter((name) => name.startsWith('$'))
  const long = header.filter((name) => [...name].length > longestName)
  const problems = [
    !header.includes('user_id') && 'The column user_id is missing, so the values belong to no user.',
    header.includes('') && 'A column has no name.',
    doubled.length > 0 && `Columns have the same name: ${[...new Set(doubled)].join(', ')}.`,
    standard.length > 0 && `Standard profiles cannot be changed by an import: ${standard.join(', ')}.`,
    long.length > 0 &&
      `Names have more than ${longestName} characters: ${long.map((name) => `${name.slice(0, 40)}…`).join(', ')}.`,
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
  if (name === 'user_id') return { name, type: 'identifies the user', isRegistered: false, misfits: 0 }
  if (name === 'SERVICE_ERRORS') return { name, type: 'ignored', isRegistered: false, misfits: 0 }
  const registered = Object.hasOwn(keys, name) ? keys[name] : undefined
  if (registered !== undefined) {
    const misfits = values.filter((value) => value !== '' && !isOfType(value, registered)).length
    return { name, type: registered, isRegistered: true, misfits }
  }
  const inference = new TextInference()
  for (const value of values) inference.add(value)
  return { name, type: inference.type() ?? 'no value yet', isRegistered: false, misfits: 0 }
}
