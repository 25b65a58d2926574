import pg from 'pg'

const retryable = new Set(['40001', '40P01']) // serialization failure, deadlock

const outOfRoom = new Set(['53100', '53300']) // disk full, too many connections

/** Whether Postgres refused for want of room: whatever is asked of it next will fare the same. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof pg.DatabaseError && outOfRoom.has(error.code ?? '')
}

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
