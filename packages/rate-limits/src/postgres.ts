import pg from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Counters } from './counters.ts'

/** Made by a migration of `@sluice/database`. */
const tableName = 'rate_limits'

/** Each count is one short statement: few connections serve many requests. */
const connections = 2

/** After that a connection is given up, ms; requests have long stopped waiting. */
const patience = 2_000

/** Opens counters in Postgres. They last as long as the server runs: the table is unlogged. */
export function openPostgresCounters(databaseUrl: string): Counters {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: connections,
    // Opening one takes longer than a request waits.
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: patience,
    query_timeout: patience,
    application_name: 'sluice rate limits',
    options: '-c synchronous_commit=off',
  })
  // The next query opens another connection; what it costs is reported by each request that is not counted.
  pool.on('error', () => {})
  return {
    counter: (options) =>
      new RateLimiterPostgres({
        ...options,
        storeClient: pool,
        storeType: 'pool',
        keyPrefix: '',
        tableName,
        tableCreated: true,
        // The table has at most one row per app and function.
        clearExpiredByTimeout: false,
      }),
    connected: connectAll(pool),
    close: () => pool.end(),
  }
}

async function connectAll(pool: pg.Pool): Promise<void> {
  const opened = await Promise.allSettled(Array.from({ length: connections }, () => pool.connect()))
  for (const result of opened) if (result.status === 'fulfilled') result.value.release()
}
