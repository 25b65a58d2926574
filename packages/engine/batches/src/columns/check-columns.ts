import { fileMessages } from '@sluice/contract'
import { columnError, FileError, listColumns } from '@sluice/csv'
import type { Columns, FileOptions } from './columns.ts'

/**
 * Checks the header of a file before its first row is applied (second-day.md §1, Declared types;
 * second-day.md §1, New keys). Throws `FileError` if a declared column is missing, or a declared key is registered with
 * another type. Also throws it if new keys are refused and the file has any.
 */
export function checkColumns(columns: Columns, { profileTypes, newKeys }: FileOptions): void {
  const { names, profiles } = columns
  const present = new Set(names)
  const missing = Object.keys(profileTypes).filter((key) => !present.has(key))
  if (missing.length > 0) throw columnError(missing, names, fileMessages.declaredColumnsMissing)
  checkDeclaredTypes(columns)
  if (newKeys === 'register') return
  const unknown = profiles.filter(({ registered, declared }) => !registered && declared === undefined)
  if (unknown.length > 0) {
    const keys = unknown.map(({ key }) => key)
    throw columnError(keys, names, fileMessages.keysNotRegistered)
  }
}

/**
 * Throws `FileError` if declared keys are registered with other types. A registered type is final, and the sender did
 * not accept another one.
 */
export function checkDeclaredTypes({ names, profiles }: Columns): void {
  const wrong = profiles.filter(
    ({ declared, registered, type }) => registered && declared !== undefined && declared !== type,
  )
  if (wrong.length > 0) throw otherTypes(new Map(wrong.map(({ key, type }) => [key, type ?? ''])), names)
}

/** Returns the error of a file with declared keys that are registered with these types. */
export function otherTypes(registered: ReadonlyMap<string, string>, names: readonly string[]): FileError {
  const { otherType } = fileMessages
  const describe = (shown: string, key: string) => otherType(shown, registered.get(key) ?? '')
  const forLog = otherType(`[${registered.size} names]`, 'another type')
  return new FileError(listColumns([...registered.keys()], names, describe), { forLog })
}
