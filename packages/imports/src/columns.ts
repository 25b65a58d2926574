import type { ValueType } from '@sluice/contract'
import { SERVICE_ERRORS, USER_ID } from '@sluice/csv'

/** A column whose values go into profiles. */
export interface ProfileColumn {
  /** Its place in a row. */
  index: number
  key: string
  /** `"key":`, as it stands in a JSON object, in UTF-8. */
  jsonKey: Buffer
  /** Registered or inferred; undefined as long as no row had a value. */
  type: ValueType | undefined
  /** Whether the app has the key, with this type. */
  registered: boolean
}

/** What each column of a file is for. */
export interface Columns {
  names: readonly string[]
  userIdIndex: number
  profiles: ProfileColumn[]
  /** The same in the order in which Postgres keeps keys: documents that come in it need not be sorted, each for itself. */
  inDocumentOrder: readonly ProfileColumn[]
}

/**
 * Sorts the columns of a header.
 *
 * Takes the header's names, the types that were settled (by key) and the registered keys, which win.
 */
export function sortColumns(
  names: readonly string[],
  settled: Readonly<Record<string, ValueType>>,
  registered: ReadonlyMap<string, ValueType>,
): Columns {
  const profiles = names.flatMap((key, index) => {
    if (key === USER_ID || key === SERVICE_ERRORS) return []
    const type = registered.get(key) ?? (Object.hasOwn(settled, key) ? settled[key] : undefined)
    return [{ index, key, jsonKey: Buffer.from(`${JSON.stringify(key)}:`), type, registered: registered.has(key) }]
  })
  const inDocumentOrder = profiles.toSorted((one, other) => compareKeys(Buffer.from(one.key), Buffer.from(other.key)))
  return { names, userIdIndex: names.indexOf(USER_ID), profiles, inDocumentOrder }
}

/** The order of keys within a `jsonb`: shorter ones first, then by their bytes. */
function compareKeys(one: Buffer, other: Buffer): number {
  return one.length - other.length || one.compare(other)
}

/** The settled types by key, in column order. */
export function settledTypes(columns: Columns): Record<string, ValueType> {
  const typed = columns.profiles.flatMap(({ key, type }) => (type === undefined ? [] : [[key, type] as const]))
  return Object.fromEntries(typed)
}
