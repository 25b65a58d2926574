import { errorFileHeader } from '@sluice/csv'
import { ProfileBatch } from '@sluice/profiles'
import type { ImportContext } from '../context.ts'
import type { Columns } from '../file/columns.ts'
import { type Claim, ClaimLost, type Progress } from '../order/claim.ts'
import { type BatchMemory, type PreparedBatch, prepareBatch, settleTypes } from './batch.ts'
import {
  type BatchPlace,
  batchesAtOnce,
  type Committed,
  commitBatch,
  type Expectation,
  TypesChanged,
} from './commit.ts'
import type { RowBatch } from './cut.ts'
import { KeptRows } from './kept-rows.ts'

/** What is expected of profiles for good: to expect too little costs a second try. */
type LastingExpectation = Exclude<Expectation, 'contested'>

const expectations: readonly LastingExpectation[] = ['unknown', 'none', 'some']

function more(one: LastingExpectation, other: LastingExpectation): LastingExpectation {
  return expectations.indexOf(one) > expectations.indexOf(other) ? one : other
}

/**
 * For how many batches updates are expected after the first one that met some: each costs two thirds more for it. After the
 * next one it is twice as many, and so on: to find out that updates still come costs second tries of up to three batches.
 */
const contestedAtFirst = 16

/** A batch on its way into the database. */
interface BatchUnderWay {
  batch: PreparedBatch
  /**
   * Resolves when its transaction holds the lock that the next one waits for; made anew where it is given up and has to wait
   * itself. Without that the next one would find the lock free, fail as well, and so on to the end of the file.
   */
  locked: PromiseWithResolvers<void>
  committed: Promise<void>
  isCommitted: boolean
}

/**
 * The batches of a claim on their way into the database, in file order.
 *
 * A few may be under way at the same moment, each on a connection: the next ones are looked up and checked while one writes.
 * They write one after the other, and only where no two have a user in common and none has keys to register are they under
 * way together: so the outcome is as if each had waited for the one before.
 */
export class CommitOrder {
  readonly #context: ImportContext
  readonly #claim: Claim
  readonly #columns: Columns
  readonly #onCommit: (batch: PreparedBatch, rowsFailed: number, ms: number) => void
  readonly #underWay: BatchUnderWay[] = []
  /** That of batches that are committed. */
  readonly #free: BatchMemory[] = []
  /** Bytes of an error file beside its header. */
  readonly #errorRoom: number
  #position: number
  #rows: number
  /** Undefined if the import's row has no columns yet. */
  #types: PreparedBatch['types'] | undefined
  #count = 0
  #profiles: LastingExpectation = 'unknown'
  /** Number of the first batch that is not expected to be contested any more. */
  #contestedUntil = 0
  #contestedNext = contestedAtFirst

  /** Takes the progress that was committed before, and who is to be told of each commit and the ms it took, in file order. */
  constructor(
    context: ImportContext,
    claim: Claim,
    columns: Columns,
    { columns: committed, position, rowsTotal, types }: Progress,
    onCommit: (batch: PreparedBatch, rowsFailed: number, ms: number) => void,
  ) {
    this.#context = context
    this.#claim = claim
    this.#columns = columns
    this.#errorRoom = context.settings.ERROR_FILE_LIMIT - errorFileHeader(columns.names).length
    this.#position = position
    this.#rows = rowsTotal
    this.#types = committed === null ? undefined : types
    this.#onCommit = onCommit
  }

  /**
   * Sends a batch on its way; waits for as long as it has to wait for the ones before. Throws what one of
   * those threw, or this one where it goes alone.
   */
  async add(rows: RowBatch): Promise<void> {
    settleTypes(rows, this.#columns)
    const batch = await prepareBatch(rows, this.#columns, this.#free.pop() ?? this.#newMemory())
    const goesAlone = batch.mayRegister
    const room = goesAlone ? 0 : batchesAtOnce - 1
    while (this.#underWay.length > room || this.#hasUserOf(batch)) await this.#firstCommitted()
    this.#start(batch)
    if (goesAlone) await this.#firstCommitted()
  }

  /** Waits until nothing is under way any more. Throws what the first batch that failed threw. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#underWay.map(({ committed }) => committed))
    while (this.#underWay.length > 0) await this.#firstCommitted()
  }

  async #firstCommitted(): Promise<void> {
    await this.#underWay[0]?.committed
    const first = this.#underWay.shift()
    if (first === undefined) return
    const { updates, keptRows } = first.batch
    updates.clear()
    this.#free.push({ updates, keptRows })
  }

  #newMemory(): BatchMemory {
    return { updates: new ProfileBatch(), keptRows: new KeptRows(this.#columns.names) }
  }

  #hasUserOf({ updates }: PreparedBatch): boolean {
    return this.#underWay.some(({ batch }) => updates.sharesUsersWith(batch.updates))
  }

  #start(batch: PreparedBatch): void {
    const before = this.#underWay.at(-1)
    const locked = Promise.withResolvers<void>()
    const entry: BatchUnderWay = { batch, isCommitted: false, locked, committed: Promise.resolve() }
    const onLocked = () => entry.locked.resolve()
    const number = this.#count++
    const profiles: Expectation = number < this.#contestedUntil ? 'contested' : this.#profiles
    const [after, rowsBefore, typesBefore] = [this.#position, this.#rows, this.#types]
    const place = { number, after, rowsBefore, typesBefore, errorRoom: this.#errorRoom, profiles, onLocked }
    this.#position = batch.end
    this.#rows += batch.rows
    this.#types = batch.types
    const began = performance.now()
    entry.committed = this.#commit(entry, place, before).then(async (written) => {
      await before?.committed // its answer may come later, though its commit came first
      entry.isCommitted = true
      // Types that changed on the way are those of a batch that went alone.
      if (written.batch !== batch) this.#types = written.batch.types
      this.#expect(written.profiles)
      this.#onCommit(written.batch, written.rowsFailed, performance.now() - began)
    })
    entry.committed.catch(() => {}) // it is awaited by whoever comes next; until then a rejection is no news
    this.#underWay.push(entry)
  }

  #expect(found: Committed['profiles']): void {
    this.#profiles = more(this.#profiles, found === 'contested' ? 'some' : found)
    if (found !== 'contested' || this.#count < this.#contestedUntil) return
    this.#contestedUntil = this.#count + this.#contestedNext
    this.#contestedNext *= 2
  }

  /** Gives the batch as it was written: its types may be others than when it was sent on its way. */
  async #commit(
    entry: BatchUnderWay,
    place: Omit<BatchPlace, 'followsOpenBatch'>,
    before: BatchUnderWay | undefined,
    batch = entry.batch,
  ): Promise<Committed & { batch: PreparedBatch }> {
    // A new connection may take longer than a whole batch on one that is open: then there would be no lock to wait for.
    if (before !== undefined) await Promise.race([before.locked.promise, before.committed.catch(() => {})])
    const followsOpenBatch = before?.isCommitted === false
    try {
      const whole = { ...place, followsOpenBatch }
      return { ...(await commitBatch(this.#context, this.#claim, this.#columns, batch, whole)), batch }
    } catch (error) {
      if (error instanceof TypesChanged) {
        batch.updates.clear()
        return await this.#commit(entry, place, before, await prepareBatch(batch, this.#columns, batch))
      }
      // The batch before may have been given up for another transaction, and be on its way again.
      if (!(error instanceof ClaimLost) || !followsOpenBatch) throw error
      entry.locked = Promise.withResolvers()
      await before?.committed
      return await this.#commit(entry, place, undefined, batch)
    }
  }
}
