import { createHash } from 'node:crypto'
import { type RowBlock, rowOffset } from '@sluice/csv'
import type { Columns } from '../columns/columns.ts'
import { type HashedRows, HashProgram, keyBytes } from './hash-program.ts'
import type { KnownRows } from './known-rows.ts'

/** The program of all files without a set of known rows. */
const ordinary = new HashProgram()

/**
 * Hashes the rows of an app (second-day.md §2, Identical rows). A row that has the hash of the row that was last merged
 * into a profile need not be read: the profile holds its values.
 *
 * The key of the hash depends on a secret of the app, so nobody can prepare two rows with one hash. By chance, a
 * changed row has the hash of the preceding one with a probability of 2^-128.
 */
export class RowHashes {
  readonly #secret: Buffer
  /** Undefined as long as each row is looked up. */
  known: KnownRows | undefined
  #meaning: Buffer | undefined
  #key = Buffer.alloc(0)

  /** Accepts the app's secret. */
  constructor(secret: Buffer) {
    this.#secret = secret
  }

  /** Returns the hashes of these rows of a block, and which of them were known. Both are valid until the next call. */
  of(block: RowBlock, from: number, to: number, columns: Columns): HashedRows {
    const [start, end] = [rowOffset(block, from), rowOffset(block, to)]
    return (this.known?.program ?? ordinary).hashRows(
      this.#keyFor(columns),
      block.bytes.subarray(start, end),
      block.rowEnd.subarray(from, to),
      block.start + start,
    )
  }

  /** Returns a key that differs if the same row has another meaning (columns, types). */
  #keyFor({ meaning }: Columns): Buffer {
    if (meaning !== this.#meaning) {
      this.#meaning = meaning
      this.#key = createHash('sha256').update(this.#secret).update(meaning).digest().subarray(0, keyBytes)
    }
    return this.#key
  }
}
