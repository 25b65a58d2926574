import { fileMessages, type NewKeys, type ValueType } from '@sluice/contract'
import { columnError, FileError, listColumns } from '@sluice/csv'
import { sql } from '@sluice/database'
import type { Columns } from './file/columns.ts'

/** What the sender of a file decided about its import. */
export interface ImportOptions {
  /** The declared types, by key. */
  profileTypes: Readonly<Record<string, ValueType>>
  /** What happens to columns that are neither registered nor declared. */
  newKeys: NewKeys
  /** A cell with this text removes the key from the user's profile; null if no text does. */
  clearMarker: string | null
}

/** The options as an import's row has them. */
export interface OptionsRow {
  profile_types: Record<string, ValueType>
  new_keys: NewKeys
  clear_marker: string | null
}

/** The columns of an {@link OptionsRow}. */
export const optionColumns = ['profile_types', 'new_keys', 'clear_marker'] as const

/** Returns the options that an import's row has. */
export function toOptions(row: OptionsRow): ImportOptions {
  return { profileTypes: row.profile_types, newKeys: row.new_keys, clearMarker: row.clear_marker }
}

/** The options that a request may have. Absent and undefined members are the same. */
export type GivenOptions = { [Name in keyof ImportOptions]?: ImportOptions[Name] | undefined }

/**
 * Returns the values of an import's row. Without a choice about new keys, the app's own default applies as it is when
 * the import is requested.
 */
export function optionValues(appId: number, { profileTypes, newKeys, clearMarker }: GivenOptions = {}) {
  return {
    ...(profileTypes !== undefined && { profile_types: JSON.stringify(profileTypes) }),
    new_keys: newKeys ?? sql<NewKeys>`(select a.new_keys from apps a where a.app_id = ${appId})`,
    clear_marker: clearMarker ?? null,
  }
}

/**
 * Checks the header of a file before its first row is applied. Throws `FileError` if a declared column is missing, if a
 * declared key is registered with another type, or if new keys are refused and there are any.
 */
export function checkColumns(columns: Columns, { profileTypes, newKeys }: ImportOptions): void {
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
