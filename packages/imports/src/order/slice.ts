import type { ImportContext } from '../context.ts'
import type { Claim } from './claim.ts'
import { lookUpSlotDemand } from './fair-order.ts'

/** Pause between two lookups of a running import. A claim takes less time than that. */
const longestPauseMs = 250

/**
 * The time for which an import has its slot. The import keeps the slot for longer while no other app waits for a
 * worker.
 *
 * The slice begins with the claim, but half a slice is always left for rows from now on. Reading a compressed file up
 * to the import's position may take long, and an import far into its file would not progress otherwise.
 *
 * A dry run beside an import of its app has no slice: it ends as soon as another app waits.
 */
export class Slice {
  readonly #context: ImportContext
  readonly #claim: Claim
  readonly #end: number
  readonly #pauseMs: number
  #lookedAt = Number.NEGATIVE_INFINITY

  /** Accepts the time at which the claim began, by `performance.now()`. */
  constructor(context: ImportContext, claim: Claim, began: number) {
    const { IMPORT_SLICE: sliceMs } = context.settings
    this.#context = context
    this.#claim = claim
    this.#end = Math.max(began + sliceMs, performance.now() + sliceMs / 2)
    this.#pauseMs = Math.min(longestPauseMs, sliceMs)
  }

  /** Returns whether the import is to be released. Asks Postgres at most once a pause. */
  async isOver(): Promise<boolean> {
    const now = performance.now()
    const isUsedUp = now >= this.#end
    if (!isUsedUp && !this.#claim.dryRun) return false
    if (now - this.#lookedAt < this.#pauseMs) return false
    this.#lookedAt = now
    const { othersWait, runsBeside } = await lookUpSlotDemand(this.#context, this.#claim, this.#pauseMs)
    return othersWait && (isUsedUp || runsBeside)
  }
}
