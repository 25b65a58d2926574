import pg from 'pg'

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
