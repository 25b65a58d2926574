import type pg from 'pg'
import { watchQueries } from './watch-queries.ts'

/**
 * Ends a connection that leaves a query unanswered for `limit` ms: its other end may be gone without a word, and whoever
 * waits would wait for ever. The query fails, and the pool opens another connection.
 */
export function endWhenSilent(client: pg.ClientBase, limit: number): void {
  watchQueries(client, (answer, watched) => {
    const timer = setTimeout(() => void watched.end(), limit)
    answer.catch(() => {}).finally(() => clearTimeout(timer))
  })
}
