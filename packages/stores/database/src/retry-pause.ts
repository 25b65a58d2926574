import { type RawBuilder, sql } from 'kysely'

/** The first pause, s. Each following one is twice as long. */
const firstPause = 5

/** How many times as long a pause may be, by chance, so that what failed together is not tried again together. */
const longestJitter = 1.25

/** Returns the pause after a number of tries, s: 5, 10, 20 … and up to a quarter more, at most `longest`. */
export function retryPause(tries: number, longest: number): number {
  const pause = Math.min(firstPause * 2 ** (tries - 1), longest / longestJitter)
  return pause * (1 + Math.random() * (longestJitter - 1))
}

/**
 * Builds the pause after a try whose process died, s: the lease of the try, or the next longer pause. `tries` are those
 * before it, and `leaseMs` is in ms.
 */
export function retryPauseAfterDeath(
  tries: RawBuilder<unknown>,
  { leaseMs, longest }: { leaseMs: number; longest: number },
): RawBuilder<number> {
  return sql`greatest(
    ${leaseMs / 1000}, least(${firstPause} * power(2, least(${tries}, 20)), ${longest / longestJitter})
  )`
}
