import { type RowBlock, readRows } from '@sluice/csv'
import type { Columns } from './columns/columns.ts'
import { RowHashes } from './hashes/row-hashes.ts'
import { type BatchLimits, cutBatches, joinBatches, type RowBatch } from './rows/cut.ts'
import { BatchSize } from './write/batch-size.ts'
import type { BatchContext } from './write/commit.ts'
import { CommitOrder, type FilePlace } from './write/commit-order.ts'
import { LargeBatches } from './write/large-batches.ts'

/** The rest of a file that is to be written. */
export interface BatchesOptions extends Omit<BatchContext, 'lockSpace'>, FilePlace {
  /** Maximum number of rows of a transaction. */
  batchRows: number
  /** The same limit, as {@link Batches.rowsForNextTry} of an earlier try returned it. */
  transactionRows: number | null
  /** End of the first batch in the file, if an earlier try has committed a part of it. */
  firstEnd: number | null
}

/** Number of rows of a file's first batch. It is small, so that progress or the first error shows early. */
const firstRows = 1_000

/** Opens the batches of a file. They own `columns` from now on. Returns undefined if the app was deleted. */
export async function openBatches(options: BatchesOptions): Promise<Batches | undefined> {
  const app = await options.db
    .selectFrom('apps')
    .select('row_hash_secret')
    .where('app_id', '=', options.owner.appId)
    .executeTakeFirst()
  return app === undefined ? undefined : new Batches(options, new RowHashes(app.row_hash_secret))
}

/**
 * Writes the rows of a file into profiles, batch by batch, from a committed offset on.
 *
 * Usage: {@link add} each batch that {@link from} yields, then call {@link end}, whatever happened. A batch is one
 * transaction with the owner's progress (`BatchOwner`), or several if transactions had to be made smaller.
 */
export class Batches {
  readonly #options: BatchesOptions
  readonly #size: BatchSize
  readonly #order: CommitOrder

  constructor(options: BatchesOptions, rowHashes: RowHashes) {
    this.#options = options
    this.#size = new BatchSize(options.transactionRows)
    this.#order = new CommitOrder(options, rowHashes, this.#size)
  }

  /** Cuts the file into batches. Accepts its uncompressed bytes from the committed offset on. */
  from(bytes: AsyncIterable<Buffer>): AsyncGenerator<RowBatch> {
    const { db, columns, position, batchRows } = this.#options
    const rows: AsyncIterable<RowBlock> = readRows(bytes, { position, columns: columns.names.length })
    const large = new LargeBatches(db, columns)
    const maxRows = () => Math.min(batchRows, this.#size.rows)
    return joinBatches(cutBatches(rows, position, this.#limits(columns)), maxRows, () => large.mayJoin())
  }

  /**
   * Sends a batch. Waits for preceding batches as far as it must. Throws the error of the first batch that failed:
   * `NothingFound` if the owner lost the rows, `KeyLimitExceeded`, `FileError` if a declared key was registered with
   * another type meanwhile, or an error of the database.
   */
  add(batch: RowBatch): Promise<void> {
    return this.#order.add(batch)
  }

  /** Waits until no batch is in flight. Throws as {@link add}. */
  end(): Promise<void> {
    return this.#order.end()
  }

  /** Maximum number of rows of a transaction in the next try; null if there is no limit. */
  get rowsForNextTry(): number | null {
    return this.#size.forNextTry
  }

  /** Whether a transaction ran out of time that has several rows: the next try succeeds if it is cut smaller. */
  mayCutSmaller(error: unknown): boolean {
    return this.#size.mayCutSmaller(error)
  }

  #limits({ jsonKeys }: Columns): BatchLimits {
    const { batchRows, recordedTypes, firstEnd, position } = this.#options
    return {
      rows: batchRows,
      keyBytes: jsonKeys.map((key) => (key === undefined ? 0 : key.length + 1)),
      ...(recordedTypes === undefined && { firstRows }),
      ...(firstEnd !== null && firstEnd > position && { firstEnd }),
    }
  }
}
