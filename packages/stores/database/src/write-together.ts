import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { isDue } from './clock.ts'
import { applicationName, type Database } from './connect.ts'
import { pipelineOf, prepare, prepared, type Query } from './connection/statements.ts'

/** A statement found no row although it must find one: its transaction is rolled back. */
export class NothingFound extends Error {
  override readonly name = 'NothingFound'
}

const divisionByZero = '22012'

/**
 * Postgres aborts a transaction that takes longer than this. It does not count a transaction whose writes have only
 * half arrived as idle, so the idle timeout would never end such a transaction if the sender died.
 */
export const transactionTimeoutMs = 20_000

/**
 * Postgres aborts a statement that waits longer than this for a lock, unless the connection has a limit of its own. The
 * limit is lower than that of the transaction, so that a lock and the transaction's own work give different errors.
 */
const lockTimeoutMs = 15_000

/**
 * Runs a transaction that ends with its writes. All writes are sent together with the commit. Their locks therefore
 * last only as long as Postgres works, however busy this process is.
 *
 * Accepts the statements that begin the transaction, and a function that reads and decides. The function receives the
 * transaction, and returns the writes and the result. Returns that result.
 *
 * If this throws, nothing is written. The only exception is a connection that breaks while the commit is in flight.
 * Throws {@link NothingFound} if a statement of {@link mustFind} finds no row.
 */
export async function writeTogether<Result>(
  db: Database,
  begin: readonly Query[],
  decide: (tx: Database) => Promise<{ writes: readonly Query[]; result: Result }>,
): Promise<Result> {
  return await db.connection().execute(async (connection) => {
    try {
      const opening = [sql`begin`.compile(connection), timeLimits.compile(connection)]
      await connection.executeQuery(pipelineOf([...opening, ...begin]))
      const { writes, result } = await decide(connection)
      await connection.executeQuery(pipelineOf([...writes, sql`commit`.compile(connection)]))
      return result
    } catch (error) {
      // If the rollback fails too, the connection is broken, and its transaction ends with it.
      await sql`rollback`.execute(connection).catch(() => {})
      throw error instanceof pg.DatabaseError && error.code === divisionByZero ? new NothingFound() : error
    }
  })
}

const timeLimits = prepared`
  select set_config('transaction_timeout', ${sql.lit(String(transactionTimeoutMs))}, true), set_config(
    'lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), ${sql.lit(String(lockTimeoutMs))}), true)`

/**
 * Ends transactions that wait for a `copy` beyond their timeout: those of {@link writeTogether} for the sender of rows,
 * and those of `copyOut` for their reader. The process at the other end no longer answers, and Postgres checks none of
 * its own timeouts meanwhile. Transactions of other programs continue, for example an operator's restore.
 *
 * Returns how many transactions it ended.
 */
export async function endStaleCopies(db: Database, copyOutTimeoutMs: number): Promise<number> {
  const { rows } = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user and application_name = ${applicationName}
      and query like 'copy %' and state = 'active'
      and (wait_event = 'ClientRead' and ${isOlderThan(transactionTimeoutMs)}
        or wait_event = 'ClientWrite' and ${isOlderThan(copyOutTimeoutMs)})
  `.execute(db)
  return rows.length
}

const isOlderThan = (ms: number) => isDue(sql`(xact_start + make_interval(secs => ${ms / 1000}))`, ms)

/**
 * Makes a statement fail with {@link NothingFound} if it returns no row, so that the following statements are skipped.
 * A statement that writes must have a `returning` clause. The returned statement is prepared once per connection, so a
 * process should pass only a few different texts.
 */
export function mustFind({ sql: text, parameters }: CompiledQuery): Query {
  const counted = `with found as (${text}) select 1 / (select count(*) from found)`
  return prepare(CompiledQuery.raw(counted, [...parameters]))
}
