import { createAccessKey } from '@sluice/access-keys'
import { addMember, createApp, UnknownApp } from '@sluice/accounts'
import { auditLogPage } from '@sluice/audit-log'
import { sql } from '@sluice/database'
import { appTables, beginAppDeletion, deleteApp, deleteApps } from '@sluice/deletions'
import { claimNext, dispatchNextInOrder, reportCancelled, runImport } from '@sluice/imports'
import { acceptInvitation, addOperator, createLink, inviteMember, redeemLink } from '@sluice/sign-in'
import { addEndpoint } from '@sluice/webhooks'
import { beforeEach, expect, test } from 'vitest'
import { addDeletions, addUsers } from '../dashboard/sample-data.ts'
import { openTestBucket, type TestBucket } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'
import {
  claim,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  queueFile,
} from '../imports/import-fixture.ts'
import { sluice } from './command-line.ts'

// `sluice apps delete`: nothing of the app is left, whatever happens in between, and other apps keep everything.
let fixture: ImportFixture
let bucket: TestBucket
let [appId, otherId] = [0, 0]
beforeEach(async () => {
  bucket = await openTestBucket()
  const opened = await openImportFixture()
  fixture = { ...opened, storage: bucket.storage, context: { ...opened.context, storage: bucket.storage } }
  ;[appId, otherId] = [await fill(), await fill()]
  return async () => {
    bucket.close()
    await opened.close()
  }
})

/** Creates an app with rows in the tables that imports, deletions, mails and invitations fill. */
async function fill(): Promise<number> {
  const { db } = fixture.database
  const app = await openApp(fixture, ['alice', 'bob'])
  await addUsers(db, app, 20)
  await addDeletions(db, app)
  await inviteMember(db, app, { email: `new${app}@example.com`, by: 'anna@example.com', memberLimit: 10 })
  await importFile(fixture, app, 'user_id,age\nalice,1\nbob,x\nnobody,2\n')
  await queueFile(fixture, app, 'user_id,age\nalice,1\n')
  await bucket.storage.write(`uploads/${app}/unannounced.csv`, Buffer.from('user_id\n'), 'text/csv')
  await sql`insert into rate_limits (key, points, expire) values (${`${app}:bulk_import`}, 1, 0)`.execute(db)
  await sql`insert into undo_lines select ${app}, gen_random_uuid(), 'alice', 1, '{age}', '{int}', '{null}', '{1}'`.execute(
    db,
  )
  await sql`insert into import_slot_time (app_id, seconds, noted_at) values (${app}, 1, now()) on conflict do nothing`.execute(
    db,
  )
  return app
}

/** Returns the number of rows of an app in each table that has any. */
async function rowsOf(app: number): Promise<Record<string, number>> {
  const { db } = fixture.database
  const counts: Record<string, number> = {}
  for (const name of [...(await tablesOfApps()), 'apps']) {
    const { rows } = await sql<{
      n: number
    }>`select count(*) as n from ${sql.table(name)} where app_id = ${app}`.execute(db)
    const [{ n } = { n: 0 }] = rows
    if (n > 0) counts[name] = n
  }
  const { rows } = await sql<{ n: number }>`select count(*) as n from rate_limits where key like ${`${app}:%`}`.execute(
    db,
  )
  return (rows[0]?.n ?? 0) > 0 ? { ...counts, rate_limits: rows[0]?.n ?? 0 } : counts
}

async function tablesOfApps(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.table_name as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and c.column_name = 'app_id' and t.table_type = 'BASE TABLE'
  `.execute(fixture.database.db)
  return rows.map(({ name }) => name).filter((name) => name !== 'apps' && name !== 'audit_log')
}

async function filesOf(app: number): Promise<string[]> {
  const keys: string[] = []
  for (const prefix of [`apps/${app}/`, `uploads/${app}/`]) {
    for await (const page of bucket.storage.list(prefix)) keys.push(...page.map(({ key }) => key))
  }
  return keys
}

// second-day.md §6, Deleting an app.
test('every table with rows of apps is deleted from', async () => {
  expect(appTables.map(({ name }) => name).sort()).toEqual((await tablesOfApps()).sort())
})

test('nothing of the app is left in tables or storage, and the other app keeps everything', async () => {
  const kept = [await rowsOf(otherId), await filesOf(otherId)]
  expect(Object.keys(await rowsOf(appId)).length).toBeGreaterThan(12)
  expect((await filesOf(appId)).length).toBeGreaterThan(3)
  const args = ['app', 'delete', '--app', String(appId)]
  expect((await sluice(fixture.database, args, bucket.environment)).code).toBe(2)
  expect((await sluice(fixture.database, [...args, '--yes'], bucket.environment)).json).toEqual({
    app_id: appId,
    deleted: true,
    users: 22,
    imports: 2,
  })
  expect([await rowsOf(appId), await filesOf(appId)]).toEqual([{}, []])
  expect([await rowsOf(otherId), await filesOf(otherId)]).toEqual(kept)
  expect((await sluice(fixture.database, [...args, '--yes'], bucket.environment)).code).toBe(1)
  const { entries } = await auditLogPage(fixture.database.db, { appId }, 10)
  expect(entries.map(({ what, outcome }) => [what, outcome])).toEqual([
    ['app.delete', 'failed'],
    ['app.delete', 'done'],
  ])
})

test('its members are signed out, unless they belong to another app', async () => {
  const { db } = fixture.database
  await sql`delete from members`.execute(db)
  for (const [app, email] of [
    [appId, 'former@example.com'],
    [appId, 'other@example.com'],
    [otherId, 'other@example.com'],
    [appId, 'operator@example.com'],
  ] as const) {
    await addMember(db, app, email)
  }
  await addOperator(db, 'operator@example.com')
  const people = ['former@example.com', 'operator@example.com', 'other@example.com']
  for (const email of people) {
    await sql`
      insert into provider_accounts (issuer, email, subject) values ('https://id.example.com', ${email}, ${email})
    `.execute(db)
    await redeemLink(db, (await createLink(db, email))?.secret ?? '')
  }
  expect(await beginAppDeletion(db, appId)).toBe(true)
  for (const table of ['sessions', 'provider_accounts'] as const) {
    const rows = await db.selectFrom(table).select('email').orderBy('email').execute()
    expect(rows.map(({ email }) => email)).toEqual(people.slice(1))
  }
})

test('from its beginning on, nobody can use the app: no token, no member, no import, no report', async () => {
  const { db } = fixture.database
  const running = await claim(fixture, appId, String((await queued())[0]))
  // Rows that are kept for an error file or a changes file do not stop the deletion.
  await sql`update imports set error_bytes = 1, changes_bytes = 1 where import_id = ${running.importId}`.execute(db)
  expect(await beginAppDeletion(db, appId)).toBe(true)
  const { outcome } = await runImport(fixture.context, running, new AbortController().signal)
  expect(['cancelled', 'lost']).toContain(outcome)
  expect(await reportCancelled(fixture.context)).toEqual([])
  expect((await dispatchNextInOrder(fixture.context)).map((next) => next.appId)).toEqual([otherId])
  expect((await claimNext(fixture.context))?.appId).toBe(otherId)
  const rows = await rowsOf(appId)
  expect([rows.api_tokens, rows.members, rows.access_keys]).toEqual([undefined, undefined, undefined])
  expect(await beginAppDeletion(db, 9999)).toBe(false)
})

test('a request that waits for its beginning adds no member, invitation, access key or webhook endpoint', async () => {
  const { db } = fixture.database
  const by = { by: 'anna@example.com', memberLimit: 10 }
  const invited = await inviteMember(db, appId, { email: 'invited@example.com', ...by })
  const secret = invited.outcome === 'invited' ? invited.secret : ''
  const keys = [Buffer.alloc(32)]
  let requests: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([])
  await db.transaction().execute(async (tx) => {
    await sql`update apps set deleting_at = now() where app_id = ${appId}`.execute(tx)
    requests = Promise.allSettled([
      addMember(db, appId, 'late@example.com'),
      inviteMember(db, appId, { email: 'later@example.com', ...by }),
      acceptInvitation(db, appId, secret, { signsIn: true }),
      createAccessKey(db, keys, appId),
      addEndpoint(db, { keys, rule: { allowsHttp: false, isAllowed: () => true } }, appId, {
        url: 'https://example.com',
      }),
    ])
    await until('the requests wait', async () => {
      const { rows } = await sql<{ n: number }>`
        select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      `.execute(db)
      return rows[0]?.n === 5
    })
  })
  const outcomes = await requests
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason)).toEqual(
    outcomes.map(() => new UnknownApp(appId)),
  )
})

async function addMany(users: number): Promise<void> {
  const ids = sql`select ${appId}::integer, 'many-' || n from generate_series(1, ${users}::integer) n`
  await sql`insert into users (app_id, user_id) ${ids}`.execute(fixture.database.db)
  await sql`insert into profiles (app_id, user_id, attributes) select *, '' from (${ids}) ids`.execute(
    fixture.database.db,
  )
}

async function queued(): Promise<string[]> {
  const { db } = fixture.database
  const rows = await db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('state', '=', 'queued')
    .execute()
  return rows.map((row) => row.import_id)
}

test('a deletion that was interrupted at any point is continued by maintenance', async () => {
  const { db } = fixture.database
  await addMany(30_000)
  await beginAppDeletion(db, appId)
  const shutdown = new AbortController()
  const interrupted = deleteApp({ ...fixture.context, shutdown: shutdown.signal }, appId)
  const isUnderWay = async () => ((await rowsOf(appId)).users ?? 0) < 25_000
  while (!(await isUnderWay())) {}
  shutdown.abort()
  await expect(interrupted).rejects.toThrow('abort')
  expect((await rowsOf(appId)).apps).toBe(1)
  expect(await deleteApps(fixture.context)).toEqual([appId])
  expect([await rowsOf(appId), await filesOf(appId)]).toEqual([{}, []])
  expect(await deleteApps(fixture.context)).toEqual([])
})

test('a day of idempotency keys is deleted in batches', async () => {
  const { db } = fixture.database
  await sql`
    insert into idempotency_keys (app_id, function, key, owner, lease_until)
    select ${appId}, 'POST /v1/users', n::text, gen_random_uuid(), now() from generate_series(1, 12000) n
  `.execute(db)
  await sql`create table batches (size integer)`.execute(db)
  await sql`
    create function note_batch() returns trigger language plpgsql as
    $$ begin insert into batches select count(*) from gone; return null; end $$
  `.execute(db)
  await sql`
    create trigger note_batch after delete on idempotency_keys referencing old table as gone
    for each statement execute function note_batch()
  `.execute(db)
  await beginAppDeletion(db, appId)
  await deleteApp(fixture.context, appId)
  expect(await rowsOf(appId)).toEqual({})
  const { rows } = await sql`select max(size) as largest, sum(size) as all from batches`.execute(db)
  expect(rows).toEqual([{ largest: 5_000, all: 12_000 }])
})

test('two processes may delete the same app at once', async () => {
  await addMany(20_000)
  await beginAppDeletion(fixture.database.db, appId)
  await Promise.all([deleteApp(fixture.context, appId), deleteApp(fixture.context, appId)])
  expect([await rowsOf(appId), await filesOf(appId)]).toEqual([{}, []])
})

test.each([
  ['a day later', 'now()'],
  ['although the clock of Postgres was set back', `now() + interval '3 days'`],
])('what a late request still writes is removed %s', async (_, time) => {
  const { db } = fixture.database
  await beginAppDeletion(db, appId)
  await deleteApp(fixture.context, appId)
  await sql`insert into users (app_id, user_id) values (${appId}, 'late')`.execute(db)
  await bucket.storage.write(`apps/${appId}/imports/x/upload`, Buffer.from('late'), 'text/csv')
  await deleteApps(fixture.context)
  expect(await rowsOf(appId)).toEqual({ users: 1 })
  await sql`update deleted_apps set sweep_at = ${sql.raw(time)}`.execute(db)
  await deleteApps(fixture.context)
  expect([await rowsOf(appId), await filesOf(appId)]).toEqual([{}, []])
  expect(await db.selectFrom('deleted_apps').selectAll().execute()).toEqual([])
})

// second-day.md §6, Apps.
test('apps are listed, shown and renamed', async () => {
  const { database } = fixture
  const { appId: third } = await createApp(database.db, { name: 'Third', email: 'anna@example.com' })
  const app = ['--app', String(third)]
  expect((await sluice(database, ['app', 'rename', ...app, '--name', 'Last'])).json).toEqual({
    app_id: third,
    name: 'Last',
  })
  expect((await sluice(database, ['app', 'rename', ...app, '--name', ' '])).code).toBe(1)
  expect((await sluice(database, ['app', 'list'])).json).toMatchObject([
    { app_id: appId, paused: false, deleting: false },
    { app_id: otherId },
    { app_id: third, name: 'Last' },
  ])
  expect((await sluice(database, ['app', 'show', ...app])).json).toMatchObject({
    app_id: third,
    name: 'Last',
    members: [{ email: 'anna@example.com', gets_mails: true }],
    users: 0,
    imports: {},
    limits: { bulk_import: null, profile_keys: null },
  })
  expect((await sluice(database, ['app', 'show', '--app', '9999'])).code).toBe(1)
})
