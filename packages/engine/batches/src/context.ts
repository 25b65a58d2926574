import type { CompiledQuery, Database, RawBuilder } from '@sluice/database'
import type { findChanges } from './changes/find-changes.ts'
import type { Columns, ProfileColumn } from './columns/columns.ts'
import type { ErrorCounts } from './errors/error-counts.ts'
import type { PreparedBatch } from './rows/prepare.ts'

/** What the batches of a file share. */
export interface BatchContext {
  db: Database
  owner: BatchOwner
  progress: ProgressStatements
  columns: Columns
  /** Number of keys that an app without a limit of its own may have. */
  keyLimit: number
  /** First of the two integers that identify their locks. It is random, so that no two files block each other. */
  lockSpace: number
  /** OID of the type of documents, which differs between databases. */
  hstoreOid: number
}

/** Whose rows these are. */
interface BatchOwner {
  appId: number
  /** Deletions with a higher number completed after the rows were sent. */
  dataOrder: number
  /** The rows are checked, and nothing is applied. */
  dryRun: boolean
  /** What the rows change is kept, not only counted. */
  keepsChanges: boolean
  /** Undefined if rows of this form are not likely to come again. */
  hashTaking: HashTaking | undefined
}

/**
 * Which profiles take the hash of a row whose values they hold already. The next time, the row is known. Costs a write
 * of the profile.
 */
export interface HashTaking {
  /** Also those with another hash. In each file, rows of one user would take it from each other. */
  replaces: boolean
  /** Profiles that were written later are likely to lose the hash before the next file. */
  unlessWrittenSince: Date
}

/** How the owner records its progress. */
export interface ProgressStatements {
  /** Returns a query that finds a row if exactly the rows before this offset of the file are committed. */
  isAt(position: number): CompiledQuery
  /**
   * Returns the statement that records what a batch changes. It runs before the rows are merged. Accepts a `select` of
   * `counts` and `content` as {@link findChanges} returns it. The statement must set `sluice.changes` to the counts.
   */
  recordChanges(batch: Pick<PreparedBatch, 'end'>, found: RawBuilder<unknown>): CompiledQuery
  /**
   * Returns the statements that record a batch. They end its transaction. One of them must use `mustFind`, so that the
   * transaction fails if the rows are no longer the owner's, or the preceding batch is not committed.
   */
  record(batch: WrittenBatch): CompiledQuery[]
  /** Called after each commit, in file order. `ms` is the time since the batch was sent. */
  onCommit(batch: WrittenBatch, ms: number): void
  /** Called when it was read what the profiles hold. Accepts their number. */
  onKnownRows(profiles: number): void
}

type OfRows = 'start' | 'end' | 'wholeEnd' | 'rows' | 'types' | 'warnings' | 'spellingCounts' | 'keptRows'

/** A batch in the transaction that writes it. `keptRows` are the invalid rows, for the error file. */
export interface WrittenBatch extends Pick<PreparedBatch, OfRows> {
  /** The types are not those after the preceding batch. */
  hasNewTypes: boolean
  rowsFailed: number
  /** The rows that failed, by message. */
  errorCounts: ErrorCounts
  /** Columns whose keys the batch registers, or would register without `dryRun`. */
  registered: readonly ProfileColumn[]
  /** An expression for the number of rows that change a profile. */
  rowsChanged: RawBuilder<number>
  /** The statement of `recordChanges` runs before the batch is recorded. */
  hasChanges: boolean
}
