import type { ImportContext } from '../context.ts'
import type { ClaimedImport } from './claim.ts'
import { lookUpSlotDemand } from './fair-order.ts'

/** Longest pause between two lookups whether other imports need the slot. Claiming an import takes less time. */
const longestPauseMs = 250

/** Why a running import is released. */
export type ReleaseReason = 'slice is over' | 'paused'

/**
 * The time for which an import has its slot (design.md §3, Fairness). The import keeps the slot for longer while no
 * other app waits for a worker. It loses the slot as soon as its app is paused (second-day.md §6, Pauses).
 *
 * The slice begins with the claim, but at least half a slice is left for rows when this object is created. Reading a
 * compressed file up to the import's position may take long, and an import far into its file would not progress
 * otherwise.
 *
 * A dry run beside an import of its app has no slice: it is released as soon as another app waits.
 */
export class Slice {
  readonly #context: ImportContext
  readonly #claim: ClaimedImport
  readonly #end: number
  readonly #pauseMs: number
  #lookedAt = Number.NEGATIVE_INFINITY

  /** Accepts the time at which the claim began, by `performance.now()`. */
  constructor(context: ImportContext, claim: ClaimedImport, began: number) {
    const { IMPORT_SLICE: sliceMs } = context.settings
    this.#context = context
    this.#claim = claim
    this.#end = Math.max(began + sliceMs, performance.now() + sliceMs / 2)
    this.#pauseMs = Math.min(longestPauseMs, sliceMs)
  }

  /**
   * Returns why the import is to be released, or undefined if it continues. Looks in Postgres at most once in
   * `#pauseMs`, and returns undefined in between.
   */
  async endedBy(): Promise<ReleaseReason | undefined> {
    const now = performance.now()
    if (now - this.#lookedAt < this.#pauseMs) return undefined
    this.#lookedAt = now
    const { othersWait, runsBeside, isPaused } = await lookUpSlotDemand(this.#context, this.#claim, this.#pauseMs)
    if (isPaused) return 'paused'
    return othersWait && (now >= this.#end || (this.#claim.dryRun && runsBeside)) ? 'slice is over' : undefined
  }
}
