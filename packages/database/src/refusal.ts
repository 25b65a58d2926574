import pg from 'pg'

/** Whether an error is Postgres's own answer to a statement, which then did nothing; not a connection that broke. */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}
