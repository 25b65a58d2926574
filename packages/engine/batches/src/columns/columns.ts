import { createHash } from 'node:crypto'
import {
  type ImportWarning,
  keyMessages,
  type NewKeys,
  serviceErrorsColumn,
  userIdColumn,
  type ValueType,
} from '@sluice/contract'
import { type InferenceWarning, type RegisteredKey, SpellingLosses } from '@sluice/profiles'
import { pairKey } from '../documents/pairs.ts'

/** What the sender of a file decided about its columns. */
export interface FileOptions {
  /** The declared types, by key. */
  profileTypes: Readonly<Record<string, ValueType>>
  /** What happens to columns that are neither registered nor declared. */
  newKeys: NewKeys
  /** A cell with this text removes the key from the user's profile; null if no text does. */
  clearMarker: string | null
}

/** How far a file has come, as its owner recorded it with the last batch. */
export interface FileProgress {
  /** Columns of the header; null until the first batch is committed. */
  columns: string[] | null
  /** Types of the columns, by key, as far as they were registered, declared or inferred. */
  types: Readonly<Record<string, ValueType>>
  warnings: readonly ImportWarning[]
  /** As in `Columns`, up to the position. */
  spellingCounts: readonly (readonly number[])[]
  /** Keys that committed batches of a dry run would have registered. */
  previewedKeys: readonly string[]
  /** Byte offset in the uncompressed file, after the last committed row. */
  position: number
  /** End of the batch that was last cut. Beyond `position` if only a part of the batch is committed. */
  batchEnd: number | null
  /** Maximum number of rows of a transaction, because larger ones failed; null if none did. */
  batchRows: number | null
  /** Rows up to the position. */
  rowsTotal: number
}

/** A column whose values go into profiles. Only {@link Columns} changes it. */
export interface ProfileColumn {
  /** Index of the column's cell in a row. */
  readonly index: number
  readonly key: string
  /** Registered, declared or inferred type; undefined until a row has a value. */
  type: ValueType | undefined
  /** The app has registered the key, with the type in `type`. */
  registered: boolean
  /** The type that the sender declared. */
  readonly declared: ValueType | undefined
  /** The key is disabled, so the next batches ignore the column (changes.md §4). */
  ignored: boolean
}

/** What is known of the columns before rows are read. Absent values mean none. */
interface KnownColumns {
  options?: FileOptions
  /** The app's keys, whose types take precedence. */
  registered?: ReadonlyMap<string, RegisteredKey>
  /** What earlier batches found. */
  committed?: Pick<FileProgress, 'types' | 'warnings' | 'spellingCounts'>
}

/**
 * Version of the rules that turn a row into values. Raise it with each change that makes a valid row invalid, or gives
 * it other values. Otherwise a row with a known hash would count as applied without being checked by the new rules.
 */
const rulesVersion = 2

/**
 * The columns of a file, with their types (service.md, Bulk import CSV file; service.md, Error CSV file;
 * design.md §3, Width of a file; second-day.md §2, Clear marker).
 *
 * A header may have 50,000 columns, and a row one byte. So a value that depends on all columns is computed when it is
 * first needed, and again only after a type has changed. It is never computed for each row or batch.
 */
export class Columns {
  readonly names: readonly string[]
  readonly userIdIndex: number
  /** In file order. */
  readonly profiles: readonly ProfileColumn[]
  /** A cell with these bytes removes the key from the user's profile; undefined if none does. */
  readonly #clearMarker: Buffer | undefined
  /**
   * Losses of the whole file, by column. They are counted if the type was inferred from this file as int or decimal,
   * and the rows that inference read lost nothing.
   */
  readonly watched = new Map<ProfileColumn, SpellingLosses>()
  /** Warnings about the rows that inference read. */
  readonly #warnings: Map<string, ImportWarning[]>
  /** Warnings about columns that are ignored, or were in a part of the file. */
  readonly #ignored: Map<string, ImportWarning>
  #inDocumentOrder: readonly ProfileColumn[] | undefined
  #pairKeys: readonly (Buffer | undefined)[] | undefined
  #derived: Derived | undefined

  /** Accepts the header's names. */
  constructor(names: readonly string[], known: KnownColumns = {}) {
    const { options, registered, committed } = known
    const { types: settled = {}, warnings = [], spellingCounts = [] } = committed ?? {}
    this.names = names
    this.userIdIndex = names.indexOf(userIdColumn)
    this.#clearMarker = options?.clearMarker == null ? undefined : Buffer.from(options.clearMarker)
    const isOfIgnored = ({ message }: ImportWarning) => message === keyMessages.columnIgnored
    this.#warnings = Map.groupBy(
      warnings.filter((warning) => !isOfIgnored(warning)),
      ({ key }) => key,
    )
    this.#ignored = new Map(warnings.filter(isOfIgnored).map((warning) => [warning.key, warning]))
    const declared = options?.profileTypes ?? {}
    this.profiles = names.flatMap((key, index) => {
      if (key === userIdColumn || key === serviceErrorsColumn) return []
      const [ofSender, ofRows] = [ownValue(declared, key), ownValue(settled, key)]
      // A registered key keeps its type (service.md, Bulk import CSV file).
      const type = registered?.get(key)?.type ?? ofSender ?? ofRows
      return [{ index, key, type, registered: registered?.has(key) === true, declared: ofSender, ignored: false }]
    })
    this.followKeys(registered ?? new Map())
    for (const [index, ...counts] of spellingCounts) {
      const column = this.profiles.find((column) => column.index === index)
      if (column === undefined) continue
      const found = this.#warnings.get(column.key) ?? []
      this.#warnings.delete(column.key)
      if (column.type === (ownValue(settled, column.key) ?? column.type))
        this.watched.set(column, SpellingLosses.from(counts, found))
    }
  }

  /** The profile columns in the order of an `hstore`, by length, then by bytes: Postgres need not sort. */
  get inDocumentOrder(): readonly ProfileColumn[] {
    this.#inDocumentOrder ??= this.profiles
      .map((column) => ({ column, key: Buffer.from(column.key) }))
      .sort((one, other) => one.key.length - other.key.length || one.key.compare(other.key))
      .map(({ column }) => column)
    return this.#inDocumentOrder
  }

  /** By index in a row, the beginning of a pair; undefined for a column that never goes into profiles. */
  get pairKeys(): readonly (Buffer | undefined)[] {
    if (this.#pairKeys === undefined) {
      const pairKeys: (Buffer | undefined)[] = this.names.map(() => undefined)
      for (const { index, key } of this.profiles) pairKeys[index] = pairKey(key)
      this.#pairKeys = pairKeys
    }
    return this.#pairKeys
  }

  /** Like `pairKeys`, without ignored columns. Returns the same object until a column is ignored or applied again. */
  get writtenKeys(): readonly (Buffer | undefined)[] {
    const derived = this.#derive()
    if (derived.writtenKeys === undefined) {
      const ignored = new Set(this.profiles.filter((column) => column.ignored).map(({ index }) => index))
      const { pairKeys } = this
      derived.writtenKeys =
        ignored.size === 0 ? pairKeys : pairKeys.map((key, index) => (ignored.has(index) ? undefined : key))
    }
    return derived.writtenKeys
  }

  /** Columns without a type, in file order. */
  get untyped(): readonly ProfileColumn[] {
    return this.#derive().untyped
  }

  /** Columns with a type whose keys the app does not have yet, in file order. */
  get unregistered(): readonly ProfileColumn[] {
    return this.#derive().unregistered
  }

  /** The settled types by key, in column order, without ignored columns. Returns the same object until they change. */
  get types(): Readonly<Record<string, ValueType>> {
    return this.#derive().types
  }

  /**
   * Digest of everything that the values of a row depend on besides its bytes. Returns the same object until a type
   * changes, or a column is ignored.
   */
  get meaning(): Buffer {
    const derived = this.#derive()
    if (derived.meaning === undefined) {
      const types = this.profiles.map(({ type, ignored }) => (ignored ? 'ignored' : (type ?? null)))
      const meaning = [rulesVersion, this.names, types, this.#clearMarker?.toString() ?? null]
      derived.meaning = createHash('sha256').update(JSON.stringify(meaning)).digest()
    }
    return derived.meaning
  }

  /** Warnings about inferred types and ignored columns, in column order, as of the rows so far. */
  get warnings(): readonly ImportWarning[] {
    const warnings = new Map<string, readonly ImportWarning[]>(this.#warnings)
    for (const [column, losses] of this.watched) warnings.set(column.key, warningsOf(column, losses))
    const ignored = this.#ignored
    if (warnings.size === 0 && ignored.size === 0) return []
    return this.profiles.flatMap(({ key }) => [warnings.get(key) ?? [], ignored.get(key) ?? []].flat())
  }

  /** The counts of the watched columns so far: the index of each column, and its counts. */
  get spellingCounts(): number[][] {
    return Array.from(this.watched, ([{ index }, losses]) => [index, ...losses.counts])
  }

  /** Whether rows may remove values. */
  get hasClearMarker(): boolean {
    return this.#clearMarker !== undefined
  }

  /**
   * Whether a cell, `bytes` from `start` to `end`, equals the clear marker, and so removes its key from the profile.
   */
  isClearMarker(bytes: Buffer, start: number, end: number): boolean {
    const marker = this.#clearMarker
    if (marker === undefined || end - start !== marker.length) return false
    for (let at = 0; at < marker.length; at++) if (bytes[start + at] !== marker[at]) return false
    return true
  }

  /** Sets the inferred type of a column of this file, with warnings about it. */
  settle(column: ProfileColumn, type: ValueType, warnings: readonly InferenceWarning[]): void {
    column.type = type
    const { key } = column
    // A datetime column has no warnings.
    if (type !== 'datetime' && warnings.length > 0)
      this.#warnings.set(
        key,
        warnings.map((warning) => ({ key, type, ...warning })),
      )
    else if (type === 'int' || type === 'decimal') this.watched.set(column, new SpellingLosses())
    this.#derived = undefined
  }

  /** Notes that the app has registered the key of a column, with this type. */
  register(column: ProfileColumn, type: ValueType | undefined): void {
    const typesChanged = column.type !== type
    column.type = type
    column.registered = true
    // The type is no longer the inferred one.
    if (typesChanged) {
      this.#warnings.delete(column.key)
      this.watched.delete(column)
    }
    if (typesChanged || this.#derived === undefined) this.#derived = undefined
    else this.#derived.unregistered = this.#derived.unregistered.filter((other) => other !== column)
  }

  /**
   * Ignores the columns of disabled keys, and no others, from now on (changes.md §4). Accepts the app's keys. If a
   * disabled key belongs to an unregistered column, it was registered meanwhile, so its type applies.
   */
  followKeys(keys: ReadonlyMap<string, RegisteredKey>): void {
    for (const column of this.profiles) {
      const { key } = column
      const registered = keys.get(key)
      const ignored = registered?.enabled === false
      if (ignored && !column.registered) this.register(column, registered.type)
      if (ignored)
        this.#ignored.set(key, { key, type: registered.type, message: keyMessages.columnIgnored, examples: [] })
      if (ignored !== column.ignored) this.#derived = undefined
      column.ignored = ignored
    }
  }

  #derive(): Derived {
    this.#derived ??= {
      untyped: this.profiles.filter(({ type }) => type === undefined),
      unregistered: this.profiles.filter(({ type, registered }) => type !== undefined && !registered),
      types: Object.fromEntries(
        this.profiles.flatMap(({ key, type, ignored }) =>
          type === undefined || ignored ? [] : [[key, type] as const],
        ),
      ),
    }
    return this.#derived
  }
}

/** Returns the value of an object's own member; undefined for an inherited one such as `constructor`. */
function ownValue<Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

function warningsOf({ key, type }: ProfileColumn, losses: SpellingLosses): ImportWarning[] {
  return type === 'int' || type === 'decimal' ? losses.in(type).map((loss) => ({ key, type, ...loss })) : []
}

/** Values that are computed from the types of all columns, and from which of them are ignored. */
interface Derived {
  untyped: readonly ProfileColumn[]
  unregistered: readonly ProfileColumn[]
  types: Readonly<Record<string, ValueType>>
  meaning?: Buffer
  writtenKeys?: readonly (Buffer | undefined)[]
}
