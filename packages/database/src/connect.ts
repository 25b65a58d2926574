import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Schema } from './schema.ts'
import { sendLargeParametersAsTheyAre } from './wire/large-parameters.ts'
import { noteLostConnection, openNoted } from './wire/lost-connections.ts'
import { sendPipelines } from './wire/pipeline.ts'
import { prepareMarked } from './wire/prepared.ts'
import { endWhenSilent } from './wire/silence.ts'

/** The database as the packages see it; also a transaction. */
export type Database = Kysely<Schema>

export interface Connection {
  db: Database
  /** Connections that are open, those of them that are idle, and queries that wait for one, at this moment. */
  usage(): { open: number; idle: number; waiting: number }
  /** Ends every connection; queries under way finish first. */
  close(): Promise<void>
}

const int8 = 20

/** Postgres ends a transaction in which nothing happens for this long, ms: a process that hangs must not keep its locks. */
const idleTransaction = 10_000

/** Far beyond what a statement of the service takes, ms: an answer that is due for longer will not come. */
const longestQuery = 30_000

/** By this Postgres shows whose connection it is. */
export const applicationName = 'sluice'

/** bigint columns are counts and byte offsets, far below 2^53: they are read as numbers. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === int8 ? Number : pg.types.getTypeParser(oid, format)),
}

/**
 * Opens a pool of connections to Postgres, lazily: a database that is away fails the query, not this call.
 *
 * Takes the URL, the most connections, how long a query may go without an answer (ms; 30 s, after which its connection is
 * given up) and for a lock (ms; as long as it takes), and what to do with the error of a connection that breaks (a new one is
 * opened when it is needed).
 */
export function connect(
  databaseUrl: string,
  options: { connections?: number; longestQuery?: number; lockTimeout?: number; onError?: (error: Error) => void } = {},
): Connection {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: options.connections ?? 10,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: applicationName,
    idle_in_transaction_session_timeout: idleTransaction,
    ...(options.lockTimeout !== undefined && { lock_timeout: options.lockTimeout }),
    // Every look-up goes by an index. A statement that is prepared while a table is empty must not keep a plan that
    // reads the whole table when it has grown.
    options: '-c TimeZone=UTC -c enable_seqscan=off',
    types,
  })
  const onError = options.onError ?? (() => {})
  pool.on('error', onError)
  // A connection that breaks between two queries of a transaction tells its client, not the pool; the next query fails.
  pool.on('connect', (client) => {
    client.on('error', onError)
    prepareMarked(client)
    sendPipelines(client)
    sendLargeParametersAsTheyAre(client)
    noteLostConnection(client)
    endWhenSilent(client, options.longestQuery ?? longestQuery)
  })
  const noted = { connect: () => openNoted(() => pool.connect()), end: () => pool.end(), options: pool.options }
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: noted }) })
  return {
    db,
    usage: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => db.destroy(),
  }
}
