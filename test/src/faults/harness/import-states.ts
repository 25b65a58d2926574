import { type Database, sql } from '@sluice/database'
import { until } from '../../environment/wait.ts'
import type { AppProcess, LogLine } from './app-process.ts'
import type { Deployment } from './deployment.ts'

// What directed tests need to catch an import at a certain moment.

/** Makes every batch take so long, ms, that an import can be caught in the middle; 0 ends it. */
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

/** Waits for a moment at which a batch is written and not committed yet; batches have to be slow. */
export function untilInBatch(db: Database): Promise<true> {
  return until('a batch that is being written', async () => {
    const { rows } = await sql`select from pg_stat_activity where wait_event = 'PgSleep'`.execute(db)
    return rows.length > 0
  })
}

/** Waits until so many rows of an import are committed. Gives how many they are. */
export function untilRows({ db }: Deployment, importId: string, rows: number, deadline = 60_000): Promise<number> {
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
    deadline,
  )
}

/** Waits until an import is in a state. */
export async function untilState(
  { db }: Deployment,
  importId: string,
  state: string,
  deadline = 60_000,
): Promise<void> {
  const look = () => db.selectFrom('imports').select('state').where('import_id', '=', importId).executeTakeFirst()
  await until(`${importId} to be ${state}`, async () => (await look())?.state === state, deadline)
}

/** Lines of the log about an import whose message begins like this. */
export function logged({ log }: Deployment, importId: string, message: string): LogLine[] {
  return log.filter(({ import_id, msg }) => import_id === importId && msg.startsWith(message))
}

/** The worker that claimed an import for an attempt; waits for the claim. */
export function claimant(deployment: Deployment, importId: string, attempt: number): Promise<AppProcess> {
  return until(`attempt ${attempt} of ${importId}`, () => {
    const claim = logged(deployment, importId, 'import claimed').find((line) => line.attempt === attempt)
    return deployment.workers().find(({ pid }) => pid === claim?.pid)
  })
}
