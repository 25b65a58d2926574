import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { applicationName, type Database } from './connect.ts'
import { pipelineOf } from './wire/pipeline.ts'

/** A statement found no row where one must be: its transaction is given up. */
export class NothingFound extends Error {
  override readonly name = 'NothingFound'
}

const divisionByZero = '22012'

/**
 * Postgres ends a transaction that takes longer, ms: to it, one whose writes have come half is not idle, whoever sends them may
 * have fallen silent for good.
 */
const longestTransaction = 20_000

/**
 * Runs a transaction that ends in its writes: these are sent in one go with the commit, so that their locks last for no longer
 * than Postgres takes, however busy this process is.
 *
 * Takes the statements that it begins with, and a function that looks and decides. It is given the transaction, and gives what
 * is to be written, and the result. Throws {@link NothingFound}; nothing is written where anything throws.
 */
export async function writeTogether<Result>(
  db: Database,
  begin: readonly CompiledQuery[],
  look: (tx: Database) => Promise<{ writes: readonly CompiledQuery[]; result: Result }>,
): Promise<Result> {
  return await db.connection().execute(async (connection) => {
    try {
      const limit = sql.raw(`set local transaction_timeout = ${longestTransaction}`)
      const opening = [sql`begin`, limit].map((statement) => statement.compile(connection))
      await connection.executeQuery(pipelineOf([...opening, ...begin]))
      const { writes, result } = await look(connection)
      await connection.executeQuery(pipelineOf([...writes, sql`commit`.compile(connection)]))
      return result
    } catch (error) {
      // Where that fails too, the connection is broken, and its transaction ends with it.
      await sql`rollback`.execute(connection).catch(() => {})
      throw error instanceof pg.DatabaseError && error.code === divisionByZero ? new NothingFound() : error
    }
  })
}

/**
 * Ends transactions of {@link writeTogether} that wait for rows of a `copy` beyond their time: whoever sends them has fallen
 * silent, and Postgres looks at no limit of its own while it waits for rows. Those of others, an operator who restores, say, it
 * leaves alone. Gives how many it ended.
 */
export async function endSilentCopies(db: Database): Promise<number> {
  const { rows } = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user and application_name = ${applicationName}
      and query like 'copy %' and state = 'active' and wait_event = 'ClientRead'
      and xact_start < clock_timestamp() - make_interval(secs => ${longestTransaction / 1000})
  `.execute(db)
  return rows.length
}

/**
 * Makes a statement fail, with {@link NothingFound}, where it gives no row: what comes behind it is not done then. One that
 * writes has to return something. It becomes a prepared one, so its text should be one of a few.
 */
export function mustFind({ sql: text, parameters }: CompiledQuery): CompiledQuery {
  const counted = `/* prepared */ with found as (${text}) select 1 / (select count(*) from found)`
  return CompiledQuery.raw(counted, [...parameters])
}
