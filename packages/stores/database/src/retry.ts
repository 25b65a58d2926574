import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { hasOutsideCause } from './refusal.ts'

const retryable = new Set(['40001', '40P01']) // serialization failure, deadlock
const uniqueViolation = '23505'

/** Whether Postgres aborted the transaction because of another transaction, so that a retry may succeed. */
function isConflict(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  // A transaction inserts a profile only if it found none, so another transaction has inserted it since.
  const isSecondInsert = error.code === uniqueViolation && error.constraint === 'profiles_pkey'
  return isSecondInsert || retryable.has(error.code ?? '')
}

/**
 * Runs a transaction, and runs it again if Postgres aborts it because of a conflict with another transaction (deadlock,
 * serialization failure, a profile that both insert).
 *
 * Accepts a function that runs the whole transaction. The function's argument tells whether a preceding run was
 * aborted. An aborted run must have no effect outside its transaction, with two exceptions. It may leave memory that
 * the next run clears. It may send signals that are harmless if the run aborts. Throws the last error after 10 runs.
 */
export async function retryConflicts<Result>(transaction: (isRetry: boolean) => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction(tries > 1)
    } catch (error) {
      if (tries === 10 || !isConflict(error)) throw error
    }
  }
}

/** Pause before a statement is sent again. */
const reconnectDelayMs = 500

/**
 * Maximum number of times that a statement is sent. Afterwards the lease of the work runs out, and another process
 * recovers it. A connection that does not open takes 10 s.
 */
const reconnectTries = 100

/**
 * Repeats a statement while it fails for a reason outside itself, for example because no connection to Postgres can be
 * used. Throws the last error after {@link reconnectTries} tries, or when the signal aborts.
 */
export async function untilAnswered<Result>(
  statement: () => Promise<Result>,
  stop: AbortSignal | undefined,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await statement()
    } catch (error) {
      if (!hasOutsideCause(error) || tries === reconnectTries || stop?.aborted) throw error
      await delay(reconnectDelayMs, undefined, { signal: stop }).catch(() => {}) // one last try
    }
  }
}
