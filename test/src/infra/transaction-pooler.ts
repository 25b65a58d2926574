import { listenForLinks } from '../faults/harness/tcp-proxy.ts'
import { PooledClient } from './pooled-client.ts'
import { PooledServer } from './pooled-server.ts'

/** A pooler that lends a connection to Postgres for one transaction at a time. */
export interface TransactionPooler {
  url: string
  /** Returns how many transactions ran on another connection than the preceding transaction of the same client. */
  moves(): number
  /** Returns what clients left in the sessions of the server: settings, locks, temporary tables. */
  leftovers(): Promise<string[]>
  close(): Promise<void>
}

/**
 * Starts a pooler that behaves like PgBouncer 1.21 with `pool_mode = transaction`. It lends a client a connection to
 * Postgres until the transaction ends. It prepares the client's statements on each connection where they are missing,
 * and refuses startup parameters that PgBouncer does not know.
 *
 * Each transaction gets the connection that has been idle for longest, so a client that relies on its session fails
 * soon.
 */
export async function startTransactionPooler(databaseUrl: string, size = 8): Promise<TransactionPooler> {
  const idle: PooledServer[] = []
  const all = new Set<PooledServer>()
  const waiting: ((server: PooledServer) => void)[] = []
  const addServer = async () => {
    const server = await PooledServer.open(databaseUrl)
    all.add(server)
    release(server)
  }
  const release = (server: PooledServer) => {
    const next = waiting.shift()
    if (next === undefined) idle.push(server)
    else next(server)
  }
  for (let count = 0; count < size; count++) await addServer()

  let moves = 0
  const listener = await listenForLinks({}, (socket) => {
    let preceding: PooledServer | undefined
    const client = new PooledClient(socket, {
      async borrow() {
        const server = idle.shift() ?? (await new Promise<PooledServer>((resolve) => waiting.push(resolve)))
        if (preceding !== undefined && preceding !== server) moves++
        preceding = server
        return server
      },
      release,
      replace(server) {
        all.delete(server)
        server.end()
        void addServer().catch(() => {})
      },
    })
    socket.on('close', () => client.end())
    return { reset: () => socket.destroy() }
  })
  const url = new URL(databaseUrl)
  url.port = String(listener.port)
  return {
    url: url.href,
    moves: () => moves,
    async leftovers() {
      return (await Promise.all([...all].map((server) => server.leftovers()))).flat()
    },
    async close() {
      await listener.close()
      for (const server of all) server.end()
    },
  }
}
