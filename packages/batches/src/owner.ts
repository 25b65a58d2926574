import type { CompiledQuery, RawBuilder } from '@sluice/database'
import type { ErrorCounts } from './errors/error-counts.ts'
import type { PreparedBatch } from './rows/prepare.ts'

/** Whose rows these are, and how their progress is recorded. */
export interface BatchOwner {
  readonly appId: number
  /** Deletions with a higher number completed after the rows were sent. */
  readonly dataOrder: number
  /** The rows are checked, and nothing is applied. */
  readonly dryRun: boolean
  /** Returns a query that finds a row if exactly the rows before this offset of the file are committed. */
  isAt(position: number): CompiledQuery
  /**
   * Returns the statements that record a batch. They end its transaction. One of them must use `mustFind`, so that the
   * transaction fails if the rows are no longer the owner's, or the preceding batch is not committed.
   */
  progressTo(batch: WrittenBatch): CompiledQuery[]
  /** Called after each commit, in file order. `ms` is the time since the batch was sent. */
  onCommit(batch: WrittenBatch, ms: number): void
}

type OfRows = 'start' | 'end' | 'wholeEnd' | 'rows' | 'types' | 'warnings' | 'spellingCounts' | 'keptRows'

/** A batch in the transaction that writes it. `keptRows` are the invalid rows, for the error file. */
export interface WrittenBatch extends Pick<PreparedBatch, OfRows> {
  /** The types are not those after the preceding batch. */
  hasNewTypes: boolean
  rowsFailed: number
  /** The rows that failed, by message. */
  errorCounts: ErrorCounts
  /** Keys that the batch registers, or would register without `dryRun`. */
  newKeys: readonly string[]
  /** An expression for the number of rows that change a profile. */
  rowsChanged: RawBuilder<number>
}
