import pg from 'pg'

/** Whether an error is Postgres's own answer to a statement, which then did nothing; not a connection that broke. */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

const outOfRoom = new Set(['53100', '53300']) // disk full, too many connections

/** Whether Postgres refused for want of room: whatever is asked of it next will fare the same. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof pg.DatabaseError && outOfRoom.has(error.code ?? '')
}
