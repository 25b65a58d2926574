import { openPool, type Pool } from '@sluice/database'
import { joinCalls } from '@sluice/joined-calls'
import type { Counters, Tally } from './counters.ts'

/**
 * A connection to Postgres that does not answer for this long is closed, ms. Requests stop waiting sooner, by default
 * after 100 ms.
 */
const timeoutMs = 2_000

/** The number of requests to add to a key's count. */
interface Addition {
  key: string
  requests: number
  windowMs: number
}

/**
 * Opens counters in Postgres, in the table `rate_limits` of `@sluice/database`. The table is unlogged, so a crash of
 * the server empties it. Concurrent counts are joined into one statement, whatever their keys.
 */
export function openPostgresCounters(databaseUrl: string): Counters {
  const pool = openPool(databaseUrl, {
    // Counts are joined, so there is one statement at a time.
    max: 1,
    // Never closed while idle: opening a connection takes longer than a request waits.
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    application_name: 'sluice rate limits',
  })
  const add = joinCalls<Addition, Tally>((_, additions) => addAll(pool, additions))
  return {
    counter: (windowMs) => (key, requests) => add('', { key, requests, windowMs }),
    async current(key) {
      const { rows } = await pool.query<Tally>({
        name: 'current',
        text: `
          select points as requests, (expire - ${now})::float8 as "resetAfterMs" from rate_limits
          where key = $1 and expire > ${now}`,
        values: [key],
      })
      return rows[0]
    },
    check: () => pool.query('select 1'),
    connected: connect(pool),
    close: () => pool.end(),
  }
}

/**
 * Adds to the counts of different keys, by the clock of Postgres, which all processes share. All processes update the
 * keys in the same order, so that they cannot deadlock.
 */
async function addAll(pool: Pool, additions: readonly Addition[]): Promise<Tally[]> {
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
      additions.map(({ windowMs }) => windowMs),
    ],
  })
  const tallies = new Map(rows.map((row) => [row.key, { requests: row.requests, resetAfterMs: row.reset_after }]))
  return additions.map(({ key }) => {
    const tally = tallies.get(key)
    if (tally === undefined) throw new Error(`${key} was not counted`)
    return tally
  })
}

/** SQL for the start of the statement, in milliseconds since 1970. The time is the same for all rows of a statement. */
const now = '(extract(epoch from statement_timestamp()) * 1000)::bigint'

/**
 * The condition that the window of `r` is over. A window that ends more than a minute after a window that begins now
 * counts as over, too. In this case Postgres's clock was set back, and clients would have to wait for as long as the
 * step. The minute allows for concurrent statements that began a little later.
 */
const isOver = `(r.expire <= ${now} or r.expire > excluded.expire + 60000)`

async function connect(pool: Pool): Promise<void> {
  await pool.query('select 1').catch(() => {})
}
