import { ranOutOfTime, waitedTooLong } from '@sluice/database'
import { ProfileBatch } from '@sluice/profiles'
import type { ImportContext } from '../context.ts'
import type { Columns } from '../file/columns.ts'
import { type Claim, ClaimLost } from '../order/claim.ts'
import type { RowHashes } from '../row-hash/row-hashes.ts'
import { type BatchMemory, countSpellings, type PreparedBatch, prepareBatch, settleTypes } from './batch.ts'
import type { BatchSize } from './batch-size.ts'
import { type BatchPlace, type Committed, commitBatch, maxBatchesInFlight, TypesChanged } from './commit.ts'
import { partBatch, type RowBatch } from './cut.ts'
import { errorRoomBytes } from './error-room.ts'
import { KeptRows } from './kept-rows.ts'
import { ProfileExpectation } from './profile-expectation.ts'

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

/** What a {@link CommitOrder} uses. It changes `columns` and `size`. */
export interface CommitOrderParts {
  columns: Columns
  rowHashes: RowHashes
  size: BatchSize
  onCommit: CommitObserver
}

/** Called after each commit, in file order. `ms` is the time since the batch was sent. */
export type CommitObserver = (batch: PreparedBatch, rowsFailed: number, ms: number) => void

/**
 * Commits the batches of a claim in file order.
 *
 * A few batches may be in flight at the same moment, each on its own connection: while one writes, the following ones
 * look up and check. They write one after the other. Batches that share a user, or may register keys, are never in
 * flight together. The outcome is therefore as if each batch had started after the preceding one.
 */
export class CommitOrder {
  readonly #context: ImportContext
  readonly #claim: Claim
  readonly #columns: Columns
  readonly #rowHashes: RowHashes
  readonly #size: BatchSize
  readonly #onCommit: CommitObserver
  /** In file order. */
  readonly #inFlight: BatchInFlight[] = []
  /** Memory of committed batches. Later batches reuse it. */
  readonly #freeMemory: BatchMemory[] = []
  readonly #expectation = new ProfileExpectation()
  /** Bytes that the error file may take after its header. */
  readonly #errorRoomBytes: number
  /** Number of batches, number of rows, and position in the file, at the end of the last batch that was sent. */
  #batches = 0
  #rows: number
  #position: number
  #lastCommitAt = 0
  /**
   * Types after the last batch that was sent. Undefined if no batch was sent and the import's row has no columns yet.
   */
  #types: PreparedBatch['types'] | undefined

  constructor(context: ImportContext, claim: Claim, { columns, rowHashes, size, onCommit }: CommitOrderParts) {
    const { columns: committed, position, rowsTotal, types } = claim.progress
    this.#context = context
    this.#claim = claim
    this.#columns = columns
    this.#rowHashes = rowHashes
    this.#errorRoomBytes = errorRoomBytes(context.settings, columns.names)
    this.#position = position
    this.#rows = rowsTotal
    this.#types = committed === null ? undefined : types
    this.#size = size
    this.#onCommit = onCommit
  }

  /**
   * Sends a batch, in parts if it is larger than a transaction may be. Throws the error of the first batch that failed.
   */
  async add(rows: RowBatch): Promise<void> {
    settleTypes(rows, this.#columns)
    for (const part of partBatch(rows, () => this.#size.rows)) await this.#addPart(part)
  }

  /**
   * Waits for the preceding batches that must commit first, then sends a batch. If the batch may register keys,
   * waits for its commit as well.
   */
  async #addPart(rows: RowBatch): Promise<void> {
    countSpellings(rows, this.#columns)
    const batch = await prepareBatch(rows, this.#columns, this.#rowHashes, this.#freeMemory.pop() ?? this.#newMemory())
    const isAlone = batch.mayRegister
    const maxOthers = isAlone ? 0 : maxBatchesInFlight - 1
    while (this.#inFlight.length > maxOthers || this.#sharesUsersInFlight(batch)) await this.#firstCommitted()
    this.#send(batch)
    if (isAlone) await this.#firstCommitted()
  }

  /** Waits until no batch is in flight. Throws the error of the first batch that failed. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#inFlight.map(({ committed }) => committed))
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

  #newMemory(): BatchMemory {
    return { profileBatch: new ProfileBatch(), keptRows: new KeptRows(this.#columns.names) }
  }

  #sharesUsersInFlight({ profileBatch }: PreparedBatch): boolean {
    return this.#inFlight.some(({ batch }) => profileBatch.sharesUsersWith(batch.profileBatch))
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
    entry.committed = this.#commit(entry, place, preceding).then(async (written) => {
      await preceding?.committed // Postgres commits in order, but its answers may arrive in another order.
      entry.isCommitted = true
      const now = performance.now()
      this.#size.committed(now - Math.max(sentAt, this.#lastCommitAt))
      this.#lastCommitAt = now
      // Only a batch that was in flight alone can have other types now. So no later batch was sent with the old types.
      if (written.batch !== batch) this.#types = written.batch.types
      this.#expectation.note(written.profiles)
      this.#onCommit(written.batch, written.rowsFailed, now - sentAt)
    })
    entry.committed.catch(() => {}) // `#firstCommitted` throws the error.
    this.#inFlight.push(entry)
  }

  #nextPlace(batch: PreparedBatch, onLocked: () => void): Omit<BatchPlace, 'followsBatchInFlight'> {
    const place = {
      number: this.#batches++,
      precedingEnd: this.#position,
      precedingRows: this.#rows,
      precedingTypes: this.#types,
      errorRoomBytes: this.#errorRoomBytes,
      expectation: this.#expectation.next(),
      onLocked,
    }
    this.#position = batch.end
    this.#rows += batch.rows
    this.#types = batch.types
    return place
  }

  /** Commits a batch. Returns it as it was written: its types may have changed since it was sent. */
  async #commit(
    entry: BatchInFlight,
    place: Omit<BatchPlace, 'followsBatchInFlight'>,
    preceding: BatchInFlight | undefined,
    batch = entry.batch,
  ): Promise<Committed & { batch: PreparedBatch }> {
    // Opening a connection may take longer than a whole batch on an open one. Without this wait, this batch might look
    // for the lock of the preceding one before that transaction has acquired it.
    if (preceding !== undefined) await Promise.race([preceding.locked.promise, preceding.committed.catch(() => {})])
    const followsBatchInFlight = preceding?.isCommitted === false
    try {
      const whole = { ...place, followsBatchInFlight }
      const committed = await commitBatch(this.#context, this.#claim, this.#columns, batch, whole)
      for (const column of committed.registered) this.#columns.register(column, column.type)
      return { ...committed, batch }
    } catch (error) {
      if (error instanceof TypesChanged)
        return await this.#commit(entry, place, preceding, await this.#retype(batch, error))
      // The claim need not be lost: the preceding batch may have aborted because of a conflict, so that this batch
      // found nothing to follow. Or this batch has spent its time waiting. It is then sent again after that batch.
      const mayBeRepeated = error instanceof ClaimLost || ranOutOfTime(error) || waitedTooLong(error)
      if (!mayBeRepeated || !followsBatchInFlight) {
        this.#size.failed(batch.rows)
        throw error
      }
      entry.locked = Promise.withResolvers()
      await preceding?.committed
      return await this.#commit(entry, place, undefined, batch)
    }
  }

  /** Prepares a batch again with the types that are registered, because the hashes of its rows depend on the types. */
  async #retype(batch: PreparedBatch, { registered }: TypesChanged): Promise<PreparedBatch> {
    for (const [column, type] of registered) this.#columns.register(column, type)
    batch.profileBatch.clear()
    return await prepareBatch(batch, this.#columns, this.#rowHashes, batch)
  }
}
