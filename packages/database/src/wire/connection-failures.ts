import type pg from 'pg'
import { watchQueries } from './watch-queries.ts'

/**
 * Errors of connections that broke or could not be opened. pg throws plain errors for these, which look like errors of
 * sockets to other servers. Therefore each error object is remembered here.
 */
const failures = new WeakSet<object>()

/** Marks the errors of a connection's queries that fail because the connection broke. */
export function markConnectionFailures(client: pg.ClientBase): void {
  watchQueries(client, (answer, { connection }) => {
    answer.catch((error: unknown) => {
      if (connection.stream.destroyed) mark(error)
    })
  })
}

/** Opens a connection with `open`, and marks the error if opening fails or times out. */
export async function openMarked(open: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> {
  try {
    return await open()
  } catch (error) {
    mark(error)
    throw error
  }
}

function mark(error: unknown): void {
  if (typeof error === 'object' && error !== null) failures.add(error)
}

/** Whether a query failed because its connection to Postgres broke, or because no connection could be opened. */
export function isConnectionFailure(error: unknown): boolean {
  return typeof error === 'object' && error !== null && failures.has(error)
}
