import { isOfType, TextInference } from '@sluice/profiles/text-inference'
import type { Preview } from './csv-preview.ts'

/** The registered keys of an app with their types. */
export type Keys = Readonly<Record<string, 'string' | 'int' | 'decimal' | 'datetime'>>

/** What an import would do with a column. */
export interface ColumnLook {
  name: string
  /** In words: its type, or what it is for. */
  type: string
  /** Its key is registered: the type is settled for good. */
  isRegistered: boolean
  /** Rows of the preview whose value is not of the type. */
  misfits: number
  /** It is why the file would be refused. */
  isRefused: boolean
}

/** Characters that a name may have. */
const nameLength = 255

/** Looks at the columns of a preview as the import would; `problems` say why it would refuse the file as a whole. */
export function lookAtColumns({ header, rows }: Preview, keys: Keys): { columns: ColumnLook[]; problems: string[] } {
  const doubled = header.filter((name, index) => header.indexOf(name) !== index)
  const standard = header.filter((name) => name.startsWith('$'))
  const long = header.filter((name) => [...name].length > nameLength)
  const problems = [
    !header.includes('user_id') && 'There is no column user_id: nobody knows whose values these are.',
    header.includes('') && 'A column has no name.',
    doubled.length > 0 && `Columns have the same name: ${[...new Set(doubled)].join(', ')}.`,
    standard.length > 0 && `Standard profiles cannot be changed by an import: ${standard.join(', ')}.`,
    long.length > 0 &&
      `Names have more than ${nameLength} characters: ${long.map((name) => `${name.slice(0, 40)}…`).join(', ')}.`,
  ].filter((problem) => problem !== false)
  const refused = new Set([...doubled, ...standard, ...long, ''])
  const columns = header.map((name, index) => ({
    ...look(
      name,
      rows.map((row) => row[index] ?? ''),
      keys,
    ),
    isRefused: refused.has(name),
  }))
  return { columns, problems }
}

function look(name: string, values: readonly string[], keys: Keys): Omit<ColumnLook, 'isRefused'> {
  if (name === 'user_id') return { name, type: 'names the user', isRegistered: false, misfits: 0 }
  if (name === 'SERVICE_ERRORS') return { name, type: 'ignored', isRegistered: false, misfits: 0 }
  const registered = Object.hasOwn(keys, name) ? keys[name] : undefined
  if (registered !== undefined) {
    const misfits = values.filter((value) => value !== '' && !isOfType(value, registered)).length
    return { name, type: registered, isRegistered: true, misfits }
  }
  const inference = new TextInference()
  for (const value of values) inference.add(value)
  return { name, type: inference.type() ?? 'no value so far', isRegistered: false, misfits: 0 }
}
