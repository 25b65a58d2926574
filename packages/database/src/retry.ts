import pg from 'pg'

const retryable = new Set(['40001', '40P01']) // serialization failure, deadlock
const uniqueViolation = '23505'

/** Whether Postgres gave the transaction up because of another one, so that it may go through the next time. */
function isConflict(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  // Profiles are inserted for users who have none: another transaction has just done the same.
  const isSecondInsert = error.code === uniqueViolation && error.constraint === 'profiles_pkey'
  return isSecondInsert || retryable.has(error.code ?? '')
}

/**
 * Runs a transaction again when Postgres gave it up in favour of another one (deadlock, serialization failure, a
 * profile that both insert).
 *
 * Takes a function that runs the whole transaction, and is told whether it was given up before; it must have no other effect. Throws its last error after 10 tries.
 */
export async function retryConflicts<Result>(transaction: (again: boolean) => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction(tries > 1)
    } catch (error) {
      if (tries === 10 || !isConflict(error)) throw error
    }
  }
}
