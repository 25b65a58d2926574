import { type Database, sql } from '@sluice/database'
import { until } from '../../environment/wait.ts'
import type { AppProcess, LogLine } from './app-process.ts'
import type { Deployment } from './deployment.ts'

// Helpers that catch an import in a certain state.

/** Makes every batch take `ms` longer, so that a test can act in the middle of an import. 0 removes the delay. */
export async function slowBatches(db: Database, ms: number): Promise<void> {
  await sql`drop trigger if exists slow on imports`.execute(db)
  if (ms === 0) return
  await sql
    .raw(`
    create schema if not exists test_fixture;
    create or replace function test_fixture.slow() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(${ms / 1000});
      return new;
    end $$;
    create trigger slow before update on imports for each row
      when (old.position <> new.position) execute function test_fixture.slow()
  `)
    .execute(db)
}

/**
 * Waits until a test's trigger keeps a statement waiting by `pg_sleep`. With {@link slowBatches}, a batch is written
 * then, but not committed.
 */
export async function untilInTrigger(db: Database): Promise<void> {
  await until('a statement in a trigger', async () => {
    const { rows } =
      await sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`.execute(db)
    return rows.length > 0
  })
}

/** Waits until at least `rows` rows of an import are committed. Returns their number. */
export function untilRows({ db }: Deployment, importId: string, rows: number, timeoutMs = 60_000): Promise<number> {
  return until(
    `${rows} rows of ${importId}`,
    async () => {
      const row = await db
        .selectFrom('imports')
        .select('rows_total')
        .where('import_id', '=', importId)
        .executeTakeFirst()
      return row !== undefined && row.rows_total >= rows && row.rows_total
    },
    timeoutMs,
  )
}

export async function untilState(
  { db }: Deployment,
  importId: string,
  state: string,
  timeoutMs = 60_000,
): Promise<void> {
  const find = () => db.selectFrom('imports').select('state').where('import_id', '=', importId).executeTakeFirst()
  await until(`${importId} to be ${state}`, async () => (await find())?.state === state, timeoutMs)
}

/** Returns the log lines of an import whose message begins with `message`. */
export function logged({ log }: Deployment, importId: string, message: string): LogLine[] {
  return log.filter(({ import_id, msg }) => import_id === importId && msg.startsWith(message))
}

/** Waits until an import has `count` log lines whose message begins with `message`. Returns the first of them. */
export async function untilLogged(
  deployment: Deployment,
  importId: string,
  message: string,
  count = 1,
): Promise<LogLine | undefined> {
  const [first] = await until(`${count} times "${message}" in the log of ${importId}`, () => {
    const lines = logged(deployment, importId, message)
    return lines.length >= count && lines
  })
  return first
}

/** Waits until an attempt of an import is claimed. Returns the worker that claimed it. */
export function claimant(deployment: Deployment, importId: string, attempt: number): Promise<AppProcess> {
  return until(`attempt ${attempt} of ${importId}`, () => {
    const claim = logged(deployment, importId, 'import claimed').find((line) => line.attempt === attempt)
    return deployment.workers().find(({ pid }) => pid === claim?.pid)
  })
}
