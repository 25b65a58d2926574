import pg from 'pg'

/**
 * Ends a connection that leaves a query unanswered for `limit` ms: its other end may be gone without a word, and whoever
 * waits would wait for ever. The query fails, and the pool opens another connection.
 */
export function endWhenSilent(client: pg.ClientBase, limit: number): void {
  if (!(client instanceof pg.Client)) return
  const query = client.query
  Object.assign(client, {
    query(...args: unknown[]): unknown {
      const answer: unknown = Reflect.apply(query, client, args)
      if (answer instanceof Promise) {
        const timer = setTimeout(() => void client.end(), limit)
        answer.catch(() => {}).finally(() => clearTimeout(timer))
      }
      return answer
    },
  })
}
