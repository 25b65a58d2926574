import type { ImportContext } from '../context.ts'
import type { Claim } from './claim.ts'
import { lookAround } from './fair-order.ts'

/** A running import looks up at most this often who waits, ms; and a claim takes less than that. */
const longestPause = 250

/**
 * The time that an import has its slot for. While no other app waits for a worker, it goes on.
 *
 * It begins with the claim. Half of it is left for rows from now on, however long it took to read a compressed file again up to the
 * import's position: otherwise an import far into its file would not progress.
 *
 * An app's dry run that runs beside its import has no slice: it is over as soon as another app waits.
 */
export class Slice {
  readonly #context: ImportContext
  readonly #claim: Claim
  readonly #end: number
  readonly #pause: number
  #lookedAt = Number.NEGATIVE_INFINITY

  /** `began` is when the claim did, by `performance.now()`. */
  constructor(context: ImportContext, claim: Claim, began: number) {
    const { IMPORT_SLICE: slice } = context.settings
    this.#context = context
    this.#claim = claim
    this.#end = Math.max(began + slice, performance.now() + slice / 2)
    this.#pause = Math.min(longestPause, slice)
  }

  /** Whether the import is to be released. Asks Postgres now and then only. */
  async isOver(): Promise<boolean> {
    const now = performance.now()
    const isUsedUp = now >= this.#end
    if (!isUsedUp && !this.#claim.dryRun) return false
    if (now - this.#lookedAt < this.#pause) return false
    this.#lookedAt = now
    const { othersWait, runsBeside } = await lookAround(this.#context, this.#claim, this.#pause)
    return othersWait && (isUsedUp || runsBeside)
  }
}
