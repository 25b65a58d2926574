import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import { PoolDriver } from './connection/driver.ts'
import { openPool } from './connection/pool.ts'
import type { Schema } from './schema.ts'

/** The database as the packages see it. A transaction has the same type. */
export type Database = Kysely<Schema>

export interface Connection {
  db: Database
  /**
   * Returns how many connections are open and how many of these are idle, and how many queries wait for a connection.
   */
  usage(): { open: number; idle: number; waiting: number }
  /** Ends every connection. Queries in flight finish first. */
  close(): Promise<void>
}

export interface ConnectOptions {
  /** Maximum number of connections at a time; 10 by default. */
  connections?: number
  /** How long a query may stay unanswered before its connection is closed, ms; 30 s by default. */
  queryTimeoutMs?: number
  /** How long a query may wait for a lock, ms; without a limit by default. */
  lockTimeoutMs?: number
  /** Tells the guard of moving apps who writes: a worker passes over their rows, and a move may change them. */
  process?: 'worker' | 'move'
  /** Accepts the error of each connection that breaks. The pool opens a new connection when it needs one. */
  onError?: (error: Error) => void
}

const int8 = 20

/**
 * How long a connection is kept without a query, ms. An idle worker reports itself every 10 s, and a new connection for
 * each report would cost Postgres a hundred times as much as the report.
 */
const idleMs = 15_000

/** Postgres aborts a transaction that is idle for this long: a process that hangs must not keep its locks. */
const idleTransactionMs = 10_000

/**
 * Far longer than any statement of the service takes: an answer that is still missing after this time will not come. A
 * statement that waits for locks is ended earlier by Postgres, after 20 s (`write-together.ts`).
 */
const defaultQueryTimeoutMs = 22_000

/** Identifies the service's connections in Postgres's views. */
export const applicationName = 'sluice'

/** bigint columns hold counts and byte offsets, far below 2^53, so they are read as numbers. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === int8 ? Number : pg.types.getTypeParser(oid, format)),
}

/**
 * Opens a pool of connections to Postgres, lazily: if the database is unreachable, the first query fails, not this
 * call.
 */
export function connect(databaseUrl: string, options: ConnectOptions = {}): Connection {
  const pool = openPool(databaseUrl, {
    max: options.connections ?? 10,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: idleMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: applicationName,
    settings: {
      idle_in_transaction_session_timeout: String(idleTransactionMs),
      ...(options.lockTimeoutMs !== undefined && { lock_timeout: String(options.lockTimeoutMs) }),
      ...(options.process !== undefined && { 'sluice.process': options.process }),
      // Every lookup uses an index. A statement that is prepared while a table is empty must not keep a plan that reads
      // the whole table after the table has grown.
      enable_seqscan: 'off',
    },
    types,
    onError: options.onError,
  })
  const db = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PoolDriver(pool, options.queryTimeoutMs ?? defaultQueryTimeoutMs),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  return {
    db,
    usage: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => db.destroy(),
  }
}
