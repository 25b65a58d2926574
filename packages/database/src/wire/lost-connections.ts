import type pg from 'pg'
import { watchQueries } from './watch-queries.ts'

/** Errors of connections that broke or could not be opened: pg throws plain errors, as sockets of other servers do. */
const lost = new WeakSet<object>()

/** Remembers the errors of queries whose connection broke. */
export function noteLostConnection(client: pg.ClientBase): void {
  watchQueries(client, (answer, { connection }) => {
    answer.catch((error: unknown) => {
      if (connection.stream.destroyed) note(error)
    })
  })
}

/** Opens a connection; remembers the error if that fails, or takes too long. */
export async function openNoted(open: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> {
  try {
    return await open()
  } catch (error) {
    note(error)
    throw error
  }
}

function note(error: unknown): void {
  if (typeof error === 'object' && error !== null) lost.add(error)
}

/** Whether a query failed because its connection to Postgres broke, or because none could be opened. */
export function isLostConnection(error: unknown): boolean {
  return typeof error === 'object' && error !== null && lost.has(error)
}
