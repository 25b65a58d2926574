import { joinCalls } from '@sluice/joined-calls'
import pg from 'pg'
import type { Counters, Tally } from './counters.ts'

/** After that a connection is given up, ms; requests have long stopped waiting. */
const patience = 2_000

/** Requests to add to a key's count. */
interface Addition {
  key: string
  requests: number
  /** ms. */
  window: number
}

/**
 * Opens counters in Postgres, in a table that a migration of `@sluice/database` makes. They last as long as the server
 * runs: the table is unlogged. Counts of the same moment are one statement, whatever their keys.
 */
export function openPostgresCounters(databaseUrl: string): Counters {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    // One statement at a time is all there is.
    max: 1,
    // Opening one takes longer than a request waits.
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: patience,
    query_timeout: patience,
    application_name: 'sluice rate limits',
    options: '-c synchronous_commit=off',
  })
  // The next query opens another connection; what it costs is reported by each request that is not counted.
  pool.on('error', () => {})
  const add = joinCalls<Addition, Tally>((_, additions) => addAll(pool, additions))
  return {
    counter: (window) => (key, requests) => add('', { key, requests, window }),
    connected: connect(pool),
    close: () => pool.end(),
  }
}

/**
 * Adds to the counts of different keys, by the clock of Postgres, which all processes share. Keys go in one order for all,
 * so that processes wait for each other instead of blocking each other.
 */
async function addAll(pool: pg.Pool, additions: readonly Addition[]): Promise<Tally[]> {
  const { rows } = await pool.query<{ key: string; requests: number; reset_after: number }>({
    name: 'count',
    text: `
      insert into rate_limits as r (key, points, expire)
      select key, requests, ${now} + window_ms
      from unnest($1::text[], $2::integer[], $3::bigint[]) as g (key, requests, window_ms)
      order by key
      on conflict (key) do update set
        points = case when ${isOver} then excluded.points else r.points + excluded.points end,
        expire = case when ${isOver} then excluded.expire else r.expire end
      returning key, points as requests, (expire - ${now})::float8 as reset_after`,
    values: [
      additions.map(({ key }) => key),
      additions.map(({ requests }) => requests),
      additions.map(({ window }) => window),
    ],
  })
  const tallies = new Map(rows.map((row) => [row.key, { requests: row.requests, resetAfter: row.reset_after }]))
  return additions.map(({ key }) => {
    const tally = tallies.get(key)
    if (tally === undefined) throw new Error(`${key} was not counted`)
    return tally
  })
}

/** The same moment throughout a statement, epoch ms. */
const now = '(extract(epoch from statement_timestamp()) * 1000)::bigint'

/**
 * The window of `r` is over, or ends later than one that begins now, and a minute: then Postgres's clock was set back, and nobody
 * is to wait for as long as the step. Other statements of the same moment may have begun a little later.
 */
const isOver = `(r.expire <= ${now} or r.expire > excluded.expire + 60000)`

async function connect(pool: pg.Pool): Promise<void> {
  await pool.query('select 1').catch(() => {})
}
