import pg from 'pg'

/** Calls `watch` with the promise of every query's answer, before the sender of the query receives it. */
export function watchQueries(
  client: pg.ClientBase,
  watch: (answer: Promise<unknown>, client: pg.Client) => void,
): void {
  if (!(client instanceof pg.Client)) return
  const query = client.query
  Object.assign(client, {
    query(...args: unknown[]): unknown {
      const answer: unknown = Reflect.apply(query, client, args)
      if (answer instanceof Promise) watch(answer, client)
      return answer
    },
  })
}
