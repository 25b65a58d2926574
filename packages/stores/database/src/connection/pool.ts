import pg from 'pg'
import { parseAddress } from './address.ts'
import { Client, type ClientOptions } from './client.ts'
import { hostsOf } from './hosts.ts'

export type Pool = pg.Pool

/** A connection that somebody took from a pool. */
export type PoolClient = pg.PoolClient

/**
 * The options of pg's pool, without options that poolers refuse: they set parameters of the session.
 */
interface PoolOptions
  extends Pick<
    pg.PoolConfig,
    | 'max'
    | 'idleTimeoutMillis'
    | 'connectionTimeoutMillis'
    | 'query_timeout'
    | 'keepAlive'
    | 'keepAliveInitialDelayMillis'
    | 'application_name'
    | 'types'
  > {
  /** Settings of Postgres that apply to each transaction and statement. */
  settings?: ClientOptions['settings']
  /** Called when a connection breaks. The query on it, or the next one, fails as well. Defaults to doing nothing. */
  onError?: ((error: Error) => void) | undefined
}

/**
 * Opens a pool of connections to Postgres, lazily (second-day.md §7, Postgres): if the database is unreachable, the
 * first query fails, not this call. Throws if the address is malformed.
 */
export function openPool(databaseUrl: string, { settings = {}, onError = () => {}, ...options }: PoolOptions): Pool {
  const address = parseAddress(databaseUrl)
  const config = { ...address.config, ...options }
  const shared = { config, hosts: hostsOf(address), needsWritable: address.needsWritable, settings, onError }
  const pool = new pg.Pool({
    ...config,
    Client: class extends Client {
      constructor() {
        super(shared)
      }
    },
  })
  pool.on('error', () => {}) // the connection has called onError
  return pool
}
