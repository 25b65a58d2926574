import { createHash } from 'node:crypto'
import type { ValueType } from '@sluice/contract'
import { SERVICE_ERRORS, USER_ID } from '@sluice/csv'

/** A column whose values go into profiles. */
export interface ProfileColumn {
  /** Its place in a row. */
  readonly index: number
  readonly key: string
  /** Registered or inferred; undefined as long as no row had a value. */
  readonly type: ValueType | undefined
  /** Whether the app has the key, with this type. */
  readonly registered: boolean
}

/**
 * Counted up whenever a row that was valid is not any more, or comes to other values: a row with a known hash is taken for
 * applied without another look.
 */
const rulesVersion = 1

/**
 * What each column of a file is for.
 *
 * A header may have 50,000 columns, and a batch one byte for each row. So whatever goes through all columns is computed when it
 * is first needed, and anew only if a type has changed: never for each row or batch.
 */
export class Columns {
  readonly names: readonly string[]
  readonly userIdIndex: number
  /** In file order. */
  readonly profiles: readonly ProfileColumn[]
  #inDocumentOrder: readonly ProfileColumn[] | undefined
  #jsonKeys: readonly (Buffer | undefined)[] | undefined
  #known: Known | undefined

  /** Accepts the header's names, the types that were settled (by key), and the registered keys, which win. */
  constructor(
    names: readonly string[],
    settled: Readonly<Record<string, ValueType>>,
    registered: ReadonlyMap<string, ValueType>,
  ) {
    this.names = names
    this.userIdIndex = names.indexOf(USER_ID)
    this.profiles = names.flatMap((key, index) => {
      if (key === USER_ID || key === SERVICE_ERRORS) return []
      const type = registered.get(key) ?? (Object.hasOwn(settled, key) ? settled[key] : undefined)
      return [{ index, key, type, registered: registered.has(key) }]
    })
  }

  /** The same in the order in which Postgres keeps keys: documents that come in it need not be sorted, each for itself. */
  get inDocumentOrder(): readonly ProfileColumn[] {
    this.#inDocumentOrder ??= this.profiles
      .map((column) => ({ column, key: Buffer.from(column.key) }))
      .sort((one, other) => compareKeys(one.key, other.key))
      .map(({ column }) => column)
    return this.#inDocumentOrder
  }

  /** By place in a row, `"key":` as it stands in a JSON object, in UTF-8; undefined for a column that is not for profiles. */
  get jsonKeys(): readonly (Buffer | undefined)[] {
    if (this.#jsonKeys === undefined) {
      const jsonKeys: (Buffer | undefined)[] = this.names.map(() => undefined)
      for (const { index, key } of this.profiles) jsonKeys[index] = Buffer.from(`${JSON.stringify(key)}:`)
      this.#jsonKeys = jsonKeys
    }
    return this.#jsonKeys
  }

  /** Those without a type, in file order. */
  get untyped(): readonly ProfileColumn[] {
    return this.#whatIsKnown().untyped
  }

  /** Those with a type that the app does not have yet, in file order. */
  get unregistered(): readonly ProfileColumn[] {
    return this.#whatIsKnown().unregistered
  }

  /** The settled types by key, in column order. The object stays the same as long as they do. */
  get types(): Readonly<Record<string, ValueType>> {
    return this.#whatIsKnown().types
  }

  /** What makes the same bytes of a row mean the same values: the columns, their types, and the rules. */
  get salt(): Buffer {
    const known = this.#whatIsKnown()
    if (known.salt === undefined) {
      const meaning = [rulesVersion, this.names, this.profiles.map(({ type }) => type ?? null)]
      known.salt = createHash('sha256').update(JSON.stringify(meaning)).digest()
    }
    return known.salt
  }

  /** Sets the type of a column of this file. */
  settle(column: ProfileColumn, type: ValueType): void {
    Object.assign(column, { type } satisfies Partial<ProfileColumn>)
    this.#known = undefined
  }

  /** Notes that the app has the key of a column, with this type. */
  register(column: ProfileColumn, type: ValueType | undefined): void {
    const typesChanged = column.type !== type
    Object.assign(column, { type, registered: true } satisfies Partial<ProfileColumn>)
    if (typesChanged || this.#known === undefined) this.#known = undefined
    else this.#known.unregistered = this.#known.unregistered.filter((other) => other !== column)
  }

  #whatIsKnown(): Known {
    this.#known ??= {
      untyped: this.profiles.filter(({ type }) => type === undefined),
      unregistered: this.profiles.filter(({ type, registered }) => type !== undefined && !registered),
      types: Object.fromEntries(
        this.profiles.flatMap(({ key, type }) => (type === undefined ? [] : [[key, type] as const])),
      ),
    }
    return this.#known
  }
}

/** What follows from the types of all columns. */
interface Known {
  untyped: readonly ProfileColumn[]
  unregistered: readonly ProfileColumn[]
  types: Readonly<Record<string, ValueType>>
  salt?: Buffer
}

/** The order of keys within a `jsonb`: shorter ones first, then by their bytes. */
function compareKeys(one: Buffer, other: Buffer): number {
  return one.length - other.length || one.compare(other)
}
