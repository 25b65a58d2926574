import pg from 'pg'

const retryable = new Set(['40001', '40P01']) // serialization failure, deadlock

/**
 * Runs a transaction again when Postgres gave it up in favour of another one (deadlock, serialization failure).
 *
 * Takes a function that runs the whole transaction; it must have no other effect. Throws its last error after 10 tries.
 */
export async function retryConflicts<Result>(transaction: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction()
    } catch (error) {
      if (tries === 10 || !(error instanceof pg.DatabaseError) || !retryable.has(error.code ?? '')) throw error
    }
  }
}
