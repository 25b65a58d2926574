import pg from 'pg'
import { parseAddress } from './address.ts'
import { clientClass } from './client.ts'
import { hostsOf } from './hosts.ts'
import { applySettings, type TransactionSettings } from './transaction-settings.ts'

/** A pool of connections. */
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
  settings?: TransactionSettings
  /** Called when a connection breaks. The query on it, or the next one, fails as well. Defaults to doing nothing. */
  onError?: ((error: Error) => void) | undefined
}

/**
 * Opens a pool of connections to Postgres, lazily: if the database is unreachable, the first query fails, not this
 * call. Throws if the address is malformed.
 */
export function openPool(databaseUrl: string, { settings = {}, onError = () => {}, ...options }: PoolOptions): Pool {
  const address = parseAddress(databaseUrl)
  const config = { ...address.config, ...options }
  const pool = new pg.Pool({
    ...config,
    Client: clientClass({ config, hosts: hostsOf(address), needsWritable: address.needsWritable, onError }),
    ...(Object.keys(settings).length > 0 && { onConnect: (client) => applySettings(client, settings) }),
  })
  pool.on('error', () => {}) // the connection has called onError
  return pool
}
