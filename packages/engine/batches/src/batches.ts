import { randomInt } from 'node:crypto'
import { readRows } from '@sluice/csv'
import { NothingFound, ranOutOfTime, sql, waitedTooLong } from '@sluice/database'
import type { FileProgress } from './columns/columns.ts'
import type { BatchContext } from './context.ts'
import { ProfileBatch } from './documents/profile-batch.ts'
import { KeptRows } from './errors/kept-rows.ts'
import { KnownRows } from './hashes/known-rows.ts'
import { RowHashes } from './hashes/row-hashes.ts'
import { cutBatches, type JoinedSize, joinBatches, type RowBatch } from './rows/cut.ts'
import {
  assignUsers,
  type BatchMemory,
  countSpellings,
  type PreparedBatch,
  prepareBatch,
  settleTypes,
} from './rows/prepare.ts'
import { BatchSize } from './write/batch-size.ts'
import { type BatchPlace, type Committed, commitBatch, maxBatchesInFlight } from './write/commit.ts'
import { joinWhileNobodyWaits } from './write/large-batches.ts'
import { ProfileExpectation } from './write/profile-expectation.ts'
import { TypesChanged } from './write/register-keys.ts'

/** The rest of a file that is to be written. */
export interface BatchesOptions extends Omit<BatchContext, 'lockSpace' | 'hstoreOid'> {
  committed: FileProgress
  /** Byte offset of the first row to write in the uncompressed file. */
  position: number
  /** Maximum number of rows of a transaction. */
  maxRows: number
  /** Bytes of the uncompressed file, about. */
  fileBytes: number
  /** Bytes of memory for what the profiles of this process's files are known to hold ({@link KnownRows}). */
  knownRowsMemory: number
  /** Ends the reading of what profiles hold. */
  signal: AbortSignal | undefined
}

/** Number of rows of a file's first batch. It is small, so that progress or the first error shows early. */
const firstRows = 1_000

/**
 * What the profiles hold is read after so many rows, if most of them changed nothing; earlier if two of the largest
 * transactions have fewer rows.
 */
const rowsBeforeKnown = 3_000

/**
 * Bytes of the unknown rows of a transaction, and of all its rows. Known rows are only counted: no profile is locked
 * for them, and the transaction costs the same without them.
 */
const [unknownBytes, knownBytes] = [2 ** 20, 2 ** 21]

/** Opens the batches of a file. They own `columns` from now on. Returns undefined if the app was deleted. */
export async function openBatches(options: BatchesOptions): Promise<Batches | undefined> {
  const app = await options.db
    .selectFrom('apps')
    .select(['row_hash_secret', sql<number>`'hstore'::regtype::integer`.as('hstore_oid')])
    .where('app_id', '=', options.owner.appId)
    .executeTakeFirst()
  return app === undefined ? undefined : new Batches(options, new RowHashes(app.row_hash_secret), app.hstore_oid)
}

/** A batch that was sent to the database. */
interface BatchInFlight {
  batch: PreparedBatch
  /**
   * Resolves when the transaction holds the lock for which the following batch waits. Replaced if the batch aborts and
   * waits for the preceding batch. Otherwise the following batch would find the lock free and abort as well, and so on
   * to the end of the file.
   */
  locked: PromiseWithResolvers<void>
  committed: Promise<void>
  isCommitted: boolean
}

/**
 * Writes the rows of a file into profiles, batch by batch, from a committed offset on.
 *
 * Usage: {@link add} each batch that {@link from} yields, then call {@link end}, whatever happened. A batch is one
 * transaction with the owner's progress, or several if transactions had to be made smaller.
 *
 * A few batches may be in flight at the same moment, each on its own connection: while one writes, the following ones
 * look up and check. They write one after the other. Batches that share a user, or may register keys, are never in
 * flight together. The outcome is therefore as if each batch had started after the preceding one.
 */
export class Batches {
  /** How many rows a transaction may have, now and in the next try. */
  readonly size: BatchSize
  readonly #options: BatchesOptions
  readonly #context: BatchContext
  readonly #rowHashes: RowHashes
  /** In file order. */
  readonly #inFlight: BatchInFlight[] = []
  /** Memory of committed batches. Later batches reuse it. */
  readonly #freeMemory: BatchMemory[] = []
  readonly #expectation = new ProfileExpectation()
  /** Number of batches, and of rows in the file, at the end of the last batch that was sent. */
  #batches = 0
  #rows: number
  /** Types after the last batch that was sent; undefined if none was sent or recorded yet. */
  #types: PreparedBatch['types'] | undefined
  #lastCommitAt = 0
  /** Rows that were committed so far, and how many of them changed nothing. Undefined once that has been used. */
  #repeated: { rows: number; unchanged: number } | undefined = { rows: 0, unchanged: 0 }

  constructor(options: BatchesOptions, rowHashes: RowHashes, hstoreOid: number) {
    const { columns, types, rowsTotal, batchRows } = options.committed
    this.size = new BatchSize(batchRows)
    this.#options = options
    this.#context = { ...options, hstoreOid, lockSpace: randomInt(-(2 ** 31), 2 ** 31) }
    this.#rowHashes = rowHashes
    this.#rows = rowsTotal
    this.#types = columns === null ? undefined : types
  }

  /** Cuts the file into batches. Accepts its uncompressed bytes from the position on. */
  from(bytes: AsyncIterable<Buffer>): AsyncGenerator<RowBatch> {
    const { db, owner, columns, committed, position, maxRows } = this.#options
    const limits = {
      rows: maxRows,
      keyBytes: columns.pairKeys.map((key) => key?.length ?? 0),
      firstRows: committed.columns === null ? firstRows : maxRows,
      firstEnd: committed.batchEnd ?? position,
    }
    const batches = cutBatches(readRows(bytes, { position, columns: columns.names.length }), position, limits)
    return joinBatches(batches, () => this.#joinedSize, joinWhileNobodyWaits(db, owner.appId, columns))
  }

  /** How many rows that are not known a transaction may have. */
  get #mostUnknown() {
    return { rows: Math.min(this.#options.maxRows, this.size.rows), bytes: unknownBytes }
  }

  get #joinedSize(): JoinedSize {
    return this.#rowHashes.known ? { rows: Number.POSITIVE_INFINITY, bytes: knownBytes } : this.#mostUnknown
  }

  /**
   * Sends a batch, in parts if it has more unknown rows than a transaction may have. Waits for preceding batches as far
   * as it must. Throws the error of the first batch that failed: `NothingFound` if the owner lost the rows,
   * `KeyLimitExceeded`, `FileError` if a declared key was registered with another type meanwhile, or an error of the
   * database.
   */
  async add(rows: RowBatch): Promise<void> {
    settleTypes(rows, this.#context.columns)
    if (this.#repeatsRows()) await this.#readKnownRows(rows.start)
    for (let rest: RowBatch | undefined = rows; rest !== undefined; ) rest = await this.#addPart(rest)
  }

  /**
   * Waits for the preceding batches that must commit first, then sends the first rows of a batch, as many as a
   * transaction may have. If they may register keys, waits for their commit as well. Returns the other rows.
   */
  async #addPart(rows: RowBatch): Promise<RowBatch | undefined> {
    const { columns, hstoreOid } = this.#context
    const memory = this.#freeMemory.pop()
    const empty = memory ?? { profileBatch: new ProfileBatch(hstoreOid), keptRows: new KeptRows(columns.names) }
    const [assigned, rest] = await assignUsers(rows, empty, { columns, rowHashes: this.#rowHashes }, this.#mostUnknown)
    countSpellings(assigned, columns)
    const batch = prepareBatch(assigned, columns)
    const isAlone = batch.mayRegister
    const maxOthers = isAlone ? 0 : maxBatchesInFlight - 1
    const sharesUsers = (other: BatchInFlight) => batch.profileBatch.sharesUsersWith(other.batch.profileBatch)
    while (this.#inFlight.length > maxOthers || this.#inFlight.some(sharesUsers)) await this.#firstCommitted()
    this.#send(batch)
    if (isAlone) await this.#firstCommitted()
    return rest
  }

  /** Waits until no batch is in flight, and frees the memory. Throws as {@link add}. */
  async end(): Promise<void> {
    this.#rowHashes.known?.close()
    await Promise.allSettled(this.#inFlight.map(({ committed }) => committed))
    await this.#allCommitted()
  }

  /** Whether enough rows were committed, and most of them changed nothing. */
  #repeatsRows(): boolean {
    if (this.#repeated === undefined) return false
    const { rows, unchanged } = this.#repeated
    return rows >= Math.min(rowsBeforeKnown, 2 * this.#options.maxRows) && unchanged * 2 >= rows
  }

  /**
   * Reads what the profiles hold, if that costs less than looking up the rows from this position on. No batch may be in
   * flight: of users who are written while their hashes are read, nobody would note it.
   */
  async #readKnownRows(position: number): Promise<void> {
    this.#repeated = undefined
    await this.#allCommitted()
    const { db, owner, progress, fileBytes, knownRowsMemory, signal } = this.#options
    const known = await KnownRows.read({
      db,
      appId: owner.appId,
      remainingBytes: fileBytes - position,
      memoryBytes: knownRowsMemory,
      userIdIndex: this.#context.columns.userIdIndex,
      signal,
    })
    if (known === undefined) return
    this.#rowHashes.known = known
    progress.onKnownRows(known.rows)
  }

  async #allCommitted(): Promise<void> {
    while (this.#inFlight.length > 0) await this.#firstCommitted()
  }

  async #firstCommitted(): Promise<void> {
    await this.#inFlight[0]?.committed
    const first = this.#inFlight.shift()
    if (first === undefined) return
    const { profileBatch, keptRows } = first.batch
    profileBatch.clear()
    this.#freeMemory.push({ profileBatch, keptRows })
  }

  #send(batch: PreparedBatch): void {
    const preceding = this.#inFlight.at(-1)
    const entry: BatchInFlight = {
      batch,
      isCommitted: false,
      locked: Promise.withResolvers<void>(),
      committed: Promise.resolve(),
    }
    const place = this.#nextPlace(batch, () => entry.locked.resolve())
    const sentAt = performance.now()
    entry.committed = this.#commit(entry, place, preceding).then(async ({ written, profiles, unchanged }) => {
      await preceding?.committed // Postgres commits in order, but its answers may arrive in another order.
      entry.isCommitted = true
      const now = performance.now()
      this.size.committed(now - Math.max(sentAt, this.#lastCommitAt))
      this.#lastCommitAt = now
      // Only a batch that was in flight alone can have other types now. So no later batch was sent with the old types.
      if (written.types !== batch.types) this.#types = written.types
      this.#expectation.note(profiles)
      if (this.#repeated !== undefined) {
        this.#repeated.rows += batch.rows
        this.#repeated.unchanged += unchanged
      }
      this.#context.progress.onCommit(written, now - sentAt)
    })
    entry.committed.catch(() => {}) // `#firstCommitted` throws the error.
    this.#inFlight.push(entry)
  }

  #nextPlace(batch: PreparedBatch, onLocked: () => void): Omit<BatchPlace, 'followsBatchInFlight'> {
    const place = {
      number: this.#batches++,
      precedingRows: this.#rows,
      precedingTypes: this.#types,
      expectation: this.#expectation.next(),
      onLocked,
    }
    this.#rows += batch.rows
    this.#types = batch.types
    return place
  }

  /** Commits a batch. Its types may have changed since it was sent. */
  async #commit(
    entry: BatchInFlight,
    place: Omit<BatchPlace, 'followsBatchInFlight'>,
    preceding: BatchInFlight | undefined,
    batch = entry.batch,
  ): Promise<Committed> {
    // Opening a connection may take longer than a whole batch on an open one. Without this wait, this batch might look
    // for the lock of the preceding one before that transaction has acquired it.
    if (preceding !== undefined) await Promise.race([preceding.locked.promise, preceding.committed.catch(() => {})])
    const followsBatchInFlight = preceding?.isCommitted === false
    const { columns } = this.#context
    try {
      const committed = await commitBatch(this.#context, batch, { ...place, followsBatchInFlight })
      for (const column of committed.written.registered) columns.register(column, column.type)
      return committed
    } catch (error) {
      if (error instanceof TypesChanged) {
        for (const [column, type] of error.registered) columns.register(column, type)
        batch.profileBatch.clear()
        // The hashes of the rows depend on the types.
        const most = { rows: batch.rows, bytes: Number.POSITIVE_INFINITY }
        const [assigned] = await assignUsers(batch, batch, { columns, rowHashes: this.#rowHashes }, most)
        return await this.#commit(entry, place, preceding, prepareBatch(assigned, columns))
      }
      // The owner need not have lost the rows: the preceding batch may have aborted because of a conflict, so that this
      // batch found nothing to follow. Or it has spent its time waiting. It is then sent again after that batch.
      const mayBeRepeated = error instanceof NothingFound || ranOutOfTime(error) || waitedTooLong(error)
      if (!mayBeRepeated || !followsBatchInFlight) {
        this.size.failed(batch.unknownRows)
        throw error
      }
      entry.locked = Promise.withResolvers()
      await preceding?.committed
      return await this.#commit(entry, place, undefined, batch)
    }
  }
}
