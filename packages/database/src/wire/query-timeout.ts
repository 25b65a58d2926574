import type pg from 'pg'
import { watchQueries } from './watch-queries.ts'

/**
 * Closes a connection that leaves a query unanswered for `timeoutMs`. The server may be gone without having closed the
 * connection, and the query would then wait forever. Instead the query fails, and the pool opens another connection.
 */
export function closeOnQueryTimeout(client: pg.ClientBase, timeoutMs: number): void {
  watchQueries(client, (answer, watched) => {
    const timer = setTimeout(() => void watched.end(), timeoutMs)
    answer.catch(() => {}).finally(() => clearTimeout(timer))
  })
}
