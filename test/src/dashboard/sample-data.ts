import { type Database, sql } from '@sluice/database'

/** Adds users `user-1` and so on. All have a plan, a score and a date, and every second user has an age. */
export async function addUsers(db: Database, appId: number, users: number): Promise<void> {
  await sql`
    insert into profile_keys (app_id, key, type) values
      (${appId}, 'plan', 'string'), (${appId}, 'age', 'int'), (${appId}, 'score', 'decimal'),
      (${appId}, 'last_seen', 'datetime'), (${appId}, 'unused', 'string')
  `.execute(db)
  // One statement for a million users would exceed the statement timeout.
  for (let first = 1; first <= users; first += 100_000) {
    await addUsersFrom(db, appId, first, Math.min(users, first + 99_999))
  }
}

async function addUsersFrom(db: Database, appId: number, first: number, last: number): Promise<void> {
  await sql`
    insert into users (app_id, user_id)
    select ${appId}, 'user-' || n from generate_series(${first}::integer, ${last}::integer) as n
  `.execute(db)
  await sql`
    insert into profiles (app_id, user_id, attributes, updated_at)
    select ${appId}, 'user-' || n, hstore(array['plan', 'score', 'last_seen'], array[
        (array['free', 'basic', 'premium'])[1 + n % 3],
        trim_scale((n % 1000) / 8.0)::text,
        to_char(timestamp '2026-01-01' + n * interval '1 minute', 'YYYY-MM-DD HH24:MI:SS.MS')
      ]) || case when n % 2 = 0 then hstore('age', (18 + n % 60)::text) else '' end, now()
    from generate_series(${first}::integer, ${last}::integer) as n
  `.execute(db)
}

/** Adds deletion requests of the last ten weeks, in every state. */
export async function addDeletions(db: Database, appId: number): Promise<void> {
  const day = 24 * 60 * 60 * 1000
  for (const [age, users, state] of [
    [70, 12, 'completed'],
    [20, 340, 'started'],
    [9, 5, 'started'],
    [3, 1200, 'accepted'],
    [0, 1, 'accepted'],
  ] as const) {
    const accepted = new Date(Date.now() - age * day)
    const starts = new Date(accepted.getTime() + 6 * day)
    const completes = new Date(Date.UTC(starts.getUTCFullYear(), starts.getUTCMonth() + 1, 7))
    await db
      .insertInto('deletion_requests')
      .values({
        app_id: appId,
        token_last_four: 'abcd',
        state,
        accepted_at: accepted,
        starts_at: starts,
        completes_at: completes,
        salt: Buffer.alloc(16),
        users_requested: users,
        users_deleted: state === 'completed' ? users - 2 : 0,
      })
      .execute()
  }
}

/**
 * Adds imports: six that completed within the last ten minutes with 100,000 rows each, a failed import, an import that
 * has been running for half a minute (50,000 rows so far), and a waiting import. Returns the ID of the running import.
 */
export async function addImports(db: Database, appId: number): Promise<{ processing: string }> {
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)
  const common = { app_id: appId, source: 'v3', content_type: 'text/csv', object_key: 'none' } as const
  const completed = Array.from({ length: 6 }, (_, index) => ({
    ...common,
    state: 'completed' as const,
    rows_total: 100_000,
    rows_applied: 99_000,
    rows_failed: 1_000,
    requested_at: ago(100 * index + 95),
    started_at: ago(100 * index + 90),
    finished_at: ago(100 * index + 20),
  }))
  await db.insertInto('imports').values(completed).execute()
  await db
    .insertInto('imports')
    .values({
      ...common,
      state: 'failed',
      error: 'file maybe corrupt',
      requested_at: ago(4000),
      finished_at: ago(3900),
    })
    .execute()
  const { import_id: processing } = await db
    .insertInto('imports')
    .values({
      ...common,
      state: 'processing',
      rows_total: 50_000,
      requested_at: ago(40),
      started_at: ago(30),
      lease_until: ago(-600),
    })
    .returning('import_id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('imports')
    .values({ ...common, state: 'queued', requested_at: ago(25), queued_at: ago(20) })
    .execute()
  return { processing }
}
