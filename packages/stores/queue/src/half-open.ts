import { isQueryTimeout, type Pool, type PoolClient } from '@sluice/database'

/**
 * Closes the connections of workers that listen for jobs as soon as a query shows that the server no longer answers. A
 * listening connection sends nothing, so that nobody else would notice, and its worker would learn of jobs only when it
 * looks for them again. BullMQ opens a new connection, and the worker looks for jobs at once.
 *
 * A query ends `queryTimeoutMs` after its start at the latest. Whoever has held a connection for longer listens, and
 * did so before the query without an answer started.
 */
export function closeHalfOpenListeners(pool: Pool, queryTimeoutMs: number): void {
  const acquiredAt = new Map<PoolClient, number>()
  pool.on('acquire', (client) => acquiredAt.set(client, performance.now()))
  pool.on('release', (error, client) => {
    acquiredAt.delete(client)
    if (!isQueryTimeout(error)) return
    for (const [client, since] of acquiredAt) {
      if (since <= performance.now() - queryTimeoutMs) client.connection.stream.destroy()
    }
  })
}
