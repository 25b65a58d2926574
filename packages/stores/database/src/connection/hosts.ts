import pg from 'pg'
import type { Address, Host } from './address.ts'

/** How long a host may take to answer the search for a server that accepts writes. */
const searchTimeoutMs = 3_000

/** The hosts of an address, and the host that the next connection goes to. */
export interface Hosts {
  /** Returns the host for a new connection. Throws if no host qualifies. */
  choose(): Promise<Host>
  /** Reports that a host does not answer or does not accept writes, so that the next connection searches again. */
  giveUp(host: Host): void
}

/**
 * Chooses among the hosts of an address. A single host is used without a check. Of several hosts, the first one that
 * answers and, if the address demands it, accepts writes is used until a connection to it fails.
 */
export function hostsOf(address: Address): Hosts {
  const [only, ...others] = address.hosts
  if (only !== undefined && others.length === 0) return { choose: async () => only, giveUp() {} }
  let chosen: Promise<Host> | undefined
  let current: Host | undefined
  const search = async () => {
    try {
      current = await firstOf(address)
      return current
    } catch (error) {
      chosen = undefined
      throw error
    }
  }
  return {
    choose() {
      chosen ??= search()
      return chosen
    },
    giveUp(host) {
      if (host === current) chosen = undefined
    },
  }
}

async function firstOf(address: Address): Promise<Host> {
  const failures: unknown[] = []
  for (const host of address.hosts) {
    try {
      const isWritable = await acceptsWrites(address, host)
      if (isWritable || !address.needsWritable) return host
      failures.push(new Error(`${host.host}:${host.port} is read-only`))
    } catch (error) {
      failures.push(error)
    }
  }
  const reasons = failures.map((error) => (error instanceof Error ? error.message : String(error)))
  const wanted = address.needsWritable ? 'accepts writes' : 'answers'
  throw new AggregateError(failures, `no host of Postgres ${wanted}: ${reasons.join('; ')}`)
}

/** Returns whether a host accepts writes. Throws if it does not answer. */
async function acceptsWrites({ config }: Address, host: Host): Promise<boolean> {
  const client = new pg.Client({
    ...config,
    ...host,
    connectionTimeoutMillis: searchTimeoutMs,
    query_timeout: searchTimeoutMs,
  })
  client.on('error', () => {}) // the query fails as well
  try {
    await client.connect()
    const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only')
    return rows[0]?.transaction_read_only === 'off'
  } finally {
    // Not awaited, because `end` would wait for a host that does not answer.
    void client.end().catch(() => {})
  }
}
