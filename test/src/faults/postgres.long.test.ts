import { chown, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from '@sluice/database'
import pg from 'pg'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { type ClientApp, openClientApp, upload } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { startDeployment } from './harness/deployment.ts'
import { generatedUsers, generateSoundFile } from './harness/generate.ts'
import { claimant, logged, slowBatches, untilLogged, untilRows, untilState } from './harness/import-states.ts'
import { mountSmallDisk } from './harness/small-disk.ts'

// Postgres stops answering, aborts a transaction, or has no disk space.
const deployment = openBeforeAll(() => startDeployment({ workers: 2 }))
let app: ClientApp
const random = seeded(9)

beforeEach(async () => {
  app = await openClientApp(deployment)
})

afterEach(async () => {
  await slowBatches(deployment.db, 0)
  expect((await compareWithModel(deployment, [app])).violations).toEqual([])
})

/** Starts an import with slow batches, and waits until some rows are committed. */
async function importInProgress(rows: number): Promise<string> {
  await slowBatches(deployment.db, 100)
  const importId = await upload(deployment, app, generateSoundFile(random, 0, rows))
  await untilRows(deployment, importId, 100)
  return importId
}

test('half-open connections time out: a claim is released within its lease, and a query ends within 30 s', async () => {
  const importId = await importInProgress(6_000)
  const stalledAt = performance.now()
  deployment.postgres.proxy.set({ kind: 'stall' })
  const worker = await claimant(deployment, importId, 1)
  await untilLogged(deployment, importId, 'claim lost')
  const lostAfterMs = performance.now() - stalledAt
  expect(logged(deployment, importId, 'claim lost')).toMatchObject([
    { pid: worker.pid, msg: 'claim lost: its lease could not be renewed' },
  ])
  expect(lostAfterMs).toBeLessThan(20_000)
  // New connections work again. Stalled connections stay half-open.
  deployment.postgres.proxy.set({ kind: 'fine' })
  await slowBatches(deployment.db, 0)
  const repairedAt = performance.now()
  await untilState(deployment, importId, 'completed')
  const recoveryMs = Math.round(performance.now() - repairedAt)
  console.log(
    `claim released after ${Math.round(lostAfterMs)} ms, import ended ${recoveryMs} ms after Postgres was back`,
  )
  expect(recoveryMs).toBeLessThan(60_000)
  const answer = await fetch(`${deployment.api}/readyz`)
  expect(answer.status).toBe(200)
}, 120_000)

test('a batch that Postgres aborts in a deadlock is written again, and does not count as a failed try', async () => {
  const client = new pg.Client({ connectionString: deployment.databaseUrl })
  await client.connect()
  // The long timeout here makes the worker detect the deadlock.
  await client.query("set deadlock_timeout = '1min'")
  await slowBatches(deployment.db, 300)
  const importId = await upload(deployment, app, generateSoundFile(random, 0, 1_000))
  await untilRows(deployment, importId, 1)
  const before = await deadlocks()
  await until('a deadlock', async () => {
    await client.query('begin')
    await client.query('select from profiles where app_id = $1 and user_id = $2 for update', [app.appId, pickUser()])
    await until('a batch that waits for that user', waitsForLock, 5_000).catch(() => {})
    await client.query('select from profiles where app_id = $1 for update', [app.appId])
    await client.query('commit')
    return (await deadlocks()) > before
  }).finally(() => client.end())
  await untilState(deployment, importId, 'completed')
  expect(logged(deployment, importId, 'import postponed')).toEqual([])
})

test('an end that Postgres does not commit has no effect: no mail is sent, and the error file is written again', async () => {
  const importId = await importInProgress(2_000)
  await sql
    .raw(`
    create sequence test_fixture.refused_ends;
    create function test_fixture.refuse_end() returns trigger language plpgsql as $$
    begin
      if nextval('test_fixture.refused_ends') <= 2 then raise 'the commit fails (simulated)'; end if;
      return null;
    end $$;
    create constraint trigger refuse_end after update on imports deferrable initially deferred for each row
      when (old.state = 'processing' and new.state = 'completed') execute function test_fixture.refuse_end()
  `)
    .execute(deployment.db)
  await slowBatches(deployment.db, 0)
  const mails = () => deployment.db.selectFrom('mails').select('mail_id').where('app_id', '=', app.appId).execute()
  await until('a second refusal', async () => {
    const refusals = logged(deployment, importId, 'import postponed')
    if (refusals.length < 2) expect(await mails()).toEqual([])
    return refusals.length === 2
  })
  await untilState(deployment, importId, 'completed')
  await sql`drop trigger refuse_end on imports`.execute(deployment.db)
})

function pickUser(): string {
  return generatedUsers[random(generatedUsers.length)] ?? ''
}

async function waitsForLock(): Promise<boolean> {
  const { rows } = await sql<{ waiting: boolean }>`
    select exists (select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'sluice') as waiting
  `.execute(deployment.db)
  return rows[0]?.waiting === true
}

async function deadlocks(): Promise<number> {
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()
  `.execute(deployment.db)
  return Number(rows[0]?.deadlocks ?? 0)
}

test('an import waits while the disk of Postgres is full, and completes when there is space', async (context) => {
  const disk = await mountSmallDisk(8 * 2 ** 20)
  if (disk === undefined) return context.skip()
  onTestFinished(() => disk.remove())
  // The invalid rows need several pages, so that the last free page is not enough for them.
  const importId = await importInProgress(12_000)
  await moveErrorChunksTo(join(disk.path, 'tablespace'))
  await disk.fill()
  await slowBatches(deployment.db, 0)
  const postponed = await untilLogged(deployment, importId, 'import postponed')
  expect(postponed?.err?.message).toContain('No space left on device')
  expect(postponed).toMatchObject({ counts: false })
  await disk.empty()
  await untilState(deployment, importId, 'completed')
  await sql`alter table import_chunks set tablespace pg_default`.execute(deployment.db)
  await sql`drop tablespace small`.execute(deployment.db)
}, 120_000)

/** Moves the table of invalid rows to a tablespace in `folder`. */
async function moveErrorChunksTo(folder: string): Promise<void> {
  const { uid, gid } = await stat(deployment.postgres.dataDirectory)
  await mkdir(folder)
  await chown(folder, uid, gid)
  await sql.raw(`create tablespace small location '${folder}'`).execute(deployment.db)
  await sql`alter table import_chunks set tablespace small`.execute(deployment.db)
}
