import { ranOutOfTime, transactionTimeoutMs } from '@sluice/database'

/** After a transaction has failed, the next ones have so many times fewer rows. */
const shrinkFactor = 8

/** A transaction that took less than this was fast. */
const fastMs = transactionTimeoutMs / 4

/** After so many fast transactions in a row, the next ones have twice as many rows. */
const fastTransactions = 16

/**
 * The number of rows that a transaction may have.
 *
 * A row of a few bytes may belong to a profile of half a megabyte, so the work of a transaction cannot be known from
 * the file. If a transaction fails, the following tries cut smaller ones, down to a single row. While transactions are
 * fast, they grow again.
 */
export class BatchSize {
  #rows: number
  #failedRows = 0
  #fastInARow = 0

  /** Accepts the limit that an earlier try has left; null if none of its transactions failed. */
  constructor(rows: number | null) {
    this.#rows = rows ?? Number.POSITIVE_INFINITY
  }

  /** Maximum number of rows of a transaction. */
  get rows(): number {
    return this.#rows
  }

  /** Maximum number of rows of a transaction in the next try; null if there is no limit. */
  get forNextTry(): number | null {
    const rows = this.#failedRows === 0 ? this.#rows : Math.min(this.#rows, this.#failedRows / shrinkFactor)
    return Number.isFinite(rows) ? Math.max(1, Math.floor(rows)) : null
  }

  /** Notes that a transaction has committed, `ms` after it was sent or the preceding one has committed. */
  committed(ms: number): void {
    this.#fastInARow = ms < fastMs ? this.#fastInARow + 1 : 0
    if (this.#fastInARow < fastTransactions) return
    this.#fastInARow = 0
    this.#rows *= 2
  }

  /** Notes the rows of a transaction that failed. */
  failed(rows: number): void {
    this.#failedRows = rows
  }

  /** Whether a transaction ran out of time that has several rows: the next try succeeds if it is cut smaller. */
  mayCutSmaller(error: unknown): boolean {
    return ranOutOfTime(error) && this.#failedRows > 1
  }
}
