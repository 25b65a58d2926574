import { connect, sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { type Storage, StorageFull } from '@sluice/storage'
import pg from 'pg'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'
import { errorChunkOf } from './error-chunk.ts'
import {
  claim,
  type ImportFixture,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  resultOf,
} from './import-fixture.ts'

// A try counts only if the file may be at fault. Without outside delays, such a file fails after IMPORT_ATTEMPTS tries.
const attempts = 3
const noShutdown = new AbortController().signal
let fixture: ImportFixture
let appId: number

beforeEach(async () => {
  fixture = await openImportFixture({ IMPORT_ATTEMPTS: String(attempts) })
  appId = await openApp(fixture, ['ann', 'bob'])
  return () => fixture.close()
})

const file = 'user_id,city\nann,Graz\nbob,Linz\nnobody,Wien\n'

/** Runs one try of an import. Returns its outcome. */
async function runOnce(importId: string, context = fixture.context): Promise<string> {
  await fixture.database.db.updateTable('imports').set({ retry_at: null }).where('import_id', '=', importId).execute()
  return (await runImport(context, await claim(fixture, appId, importId), noShutdown)).outcome
}

const triesOf = async (importId: string): Promise<number> => {
  const found = fixture.database.db.selectFrom('imports').select('tries').where('import_id', '=', importId)
  return (await found.executeTakeFirstOrThrow()).tries
}

async function expectCompleted(importId: string): Promise<void> {
  expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'completed', rows_applied: 2 })
  expect(await profilesOf(fixture, appId)).toEqual({ ann: { city: 'Graz' }, bob: { city: 'Linz' } })
}

/** Makes every batch fail at its last statement. */
async function failBatches(statement: string): Promise<void> {
  await sql
    .raw(`
    create function fail_batch() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$;
    create trigger fail_batch before update on imports for each row
      when (old.position <> new.position) execute function fail_batch()
  `)
    .execute(fixture.database.db)
}

const letBatchesPass = () => sql`drop trigger fail_batch on imports`.execute(fixture.database.db)

describe('a try that Postgres ends for a reason outside the file does not count', () => {
  const raise = (code: string) => `raise exception using errcode = '${code}', message = 'as expected'`
  test.each([
    ['a transaction that took too long', raise('25P04')],
    ['a transaction that did nothing for too long', raise('25P03')],
    ['a lock that was not available', raise('55P03')],
    ['a statement that was cancelled', raise('57014')],
    ['a server that shuts down', raise('57P01')],
    ['a server that crashed', raise('57P02')],
    ['a server that starts', raise('57P03')],
    ['a server that only reads', raise('25006')],
    ['a broken connection, as Postgres reports it', raise('08006')],
    ['a deadlock in each of ten repetitions', raise('40P01')],
    ['a backend that was terminated', 'perform pg_terminate_backend(pg_backend_pid())'],
  ])('%s', async (_, statement) => {
    const importId = await queueFile(fixture, appId, file)
    await failBatches(statement)
    for (let tries = 0; tries < attempts + 2; tries++) expect(await runOnce(importId)).toBe('postponed')
    expect(await triesOf(importId)).toBe(0)
    await letBatchesPass()
    expect(await runOnce(importId)).toBe('completed')
    await expectCompleted(importId)
  })

  test('but a try that the file’s own data may have ended counts', async () => {
    const importId = await queueFile(fixture, appId, file)
    await failBatches(raise('22000'))
    const outcomes: string[] = []
    for (let tries = 0; tries < attempts; tries++) outcomes.push(await runOnce(importId))
    expect(outcomes).toEqual(['postponed', 'postponed', 'failed'])
  })
})

/** Locks the profile of one of the file's users on another connection. Returns a function that releases the lock. */
async function lockProfile(): Promise<() => Promise<void>> {
  await runOnce(await queueFile(fixture, appId, 'user_id,city\nann,Rom\n'))
  const writer = new pg.Client({ connectionString: fixture.database.url })
  writer.on('error', () => {}) // the database closes first if the test fails
  await writer.connect()
  await writer.query('begin')
  await writer.query("select from profiles where user_id = 'ann' for update")
  return () => writer.end()
}

test('another writer’s lock on a profile that outlasts every try delays the import, which completes afterwards', async () => {
  const release = await lockProfile()
  const impatient = connect(fixture.database.url, { lockTimeoutMs: 100 })
  onTestFinished(() => impatient.close())
  const importId = await queueFile(fixture, appId, file)
  const context = { ...fixture.context, db: impatient.db }
  for (let tries = 0; tries < attempts + 2; tries++) expect(await runOnce(importId, context)).toBe('postponed')
  await release()
  expect(await runOnce(importId)).toBe('completed')
  await expectCompleted(importId)
})

test('a transaction that waits for another writer’s lock until its time limit is no failed try, not even the last one', async () => {
  const release = await lockProfile()
  const context = { ...fixture.context, settings: { ...fixture.context.settings, IMPORT_ATTEMPTS: 1 } }
  const importId = await queueFile(fixture, appId, file)
  expect(await runOnce(importId, context)).toBe('postponed')
  await release()
  expect(await runOnce(importId, context)).toBe('completed')
  await expectCompleted(importId)
}, 90_000)

describe('a connection to Postgres that breaks under a batch uses up no try', () => {
  let proxy: TcpProxy
  let context: ImportFixture['context']
  beforeEach(async () => {
    proxy = await startTcpProxy(() => Number(new URL(fixture.database.url).port))
    const proxied = connect(throughProxy(fixture.database.url, proxy), { queryTimeoutMs: 1_000 })
    context = { ...fixture.context, db: proxied.db }
    return async () => {
      await proxy.close()
      await proxied.close()
    }
  })

  /** Ends the statements of broken connections in Postgres: they would commit the batch once the lock is free. */
  const endWaiting = () =>
    until('the end of every statement that waits for the lock', async () => {
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
      `.execute(fixture.database.db)
      return (await lockWaits(fixture.database.db)).length === 0
    })

  test.each([
    ['by a reset', (broken: TcpProxy) => broken.reset(), (_: TcpProxy) => {}],
    [
      'and cannot be opened again at first',
      (broken: TcpProxy) => broken.set({ kind: 'refuse' }),
      (broken: TcpProxy) => broken.set({ kind: 'fine' }),
    ],
  ])('%s', async (_, breakIt, mendIt) => {
    const release = await lockProfile()
    const importId = await queueFile(fixture, appId, file)
    for (let tries = 0; tries < attempts + 1; tries++) {
      const running = runOnce(importId, context)
      await until('a batch that waits for the lock', async () => (await lockWaits(fixture.database.db)).length > 0)
      breakIt(proxy)
      await endWaiting()
      mendIt(proxy)
      expect(await running).toBe('postponed')
      expect(await triesOf(importId)).toBe(0)
    }
    await release()
    expect(await runOnce(importId, context)).toBe('completed')
    await expectCompleted(importId)
  })

  test('and stays half-open until the claim is lost', async () => {
    const importId = await queueFile(fixture, appId, file)
    const claimed = await claim(fixture, appId, importId)
    proxy.set({ kind: 'stall' })
    const settings = { ...context.settings, IMPORT_LEASE: 2_000 }
    expect((await runImport({ ...context, settings }, claimed, noShutdown)).outcome).toBe('lost')
    // Another worker has claimed the import by the time that Postgres answers again.
    await fixture.database.db
      .updateTable('imports')
      .set({ lease_until: new Date(0) })
      .execute()
    await claim(fixture, appId, importId)
    expect(await triesOf(importId)).toBe(2)
    proxy.set({ kind: 'fine' })
    await until('the try to be uncounted', async () => (await triesOf(importId)) === 1)
  })
})

describe('a batch that commits without its worker learning of it', () => {
  test('because the connection breaks in the last try’s COMMIT: its rows count once, with their types and errors', async () => {
    const proxy = await startTcpProxy(() => Number(new URL(fixture.database.url).port))
    const proxied = connect(throughProxy(fixture.database.url, proxy))
    onTestFinished(async () => {
      await proxy.close()
      await proxied.close()
    })
    const settings = { ...fixture.context.settings, IMPORT_ATTEMPTS: 1 }
    const context = { ...fixture.context, db: proxied.db, settings }
    const importId = await queueFile(fixture, appId, file)
    await sql
      .raw(`
      create function commit_slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(1); return null; end $$;
      create constraint trigger commit_slowly after update on imports deferrable initially deferred for each row
        when (old.position <> new.position) execute function commit_slowly()
    `)
      .execute(fixture.database.db)
    const running = runOnce(importId, context)
    await until('a COMMIT', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
      `.execute(fixture.database.db)
      return rows.length > 0
    })
    proxy.reset()
    expect(await running).toBe('postponed')
    expect(await runOnce(importId)).toBe('completed')
    await expectCompleted(importId)
    const { view, errorFile } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ rows_total: 3, rows_failed: 1, types: { city: 'string' } })
    expect(errorFile?.toString()).toContain('nobody,Wien\n')
  })

  test('while the end is written: the import does not end without its rows', async () => {
    const importId = await queueFile(fixture, appId, file)
    const { chunk, line } = errorChunkOf({ appId, importId, position: 1_000, columns: ['user_id', 'city'] }, [
      'late',
      'Rom',
    ])
    let late = true
    const slow: Storage = {
      ...fixture.storage,
      async writeStream(key, content, contentType, options) {
        await fixture.storage.writeStream(key, content, contentType, options)
        if (!late) return
        late = false
        // The error file is stored. The batch that was in flight to Postgres all the time commits now.
        const counted = sql<number>`rows_total + 1`
        await fixture.database.db.insertInto('import_error_chunks').values(chunk).execute()
        await fixture.database.db.updateTable('imports').set({ rows_total: counted, rows_failed: 2 }).execute()
      },
    }
    expect(await runOnce(importId, { ...fixture.context, storage: slow })).toBe('lost')
    expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'processing', rows_total: 4 })
    const past = new Date(Date.now() - 1_000)
    await fixture.database.db.updateTable('imports').set({ lease_until: past }).execute()
    expect(await runOnce(importId)).toBe('completed')
    const { view, errorFile } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ rows_total: 4, rows_failed: 2 })
    expect(errorFile?.toString()).toContain(line)
  })
})

test('a file that fails its last try during an outage of storage waits for its error file', async () => {
  const importId = await queueFile(fixture, appId, file)
  const full: Storage = {
    ...fixture.storage,
    async writeStream(key) {
      throw new StorageFull(key)
    },
  }
  await fixture.database.db
    .updateTable('imports')
    .set({
      tries: attempts + 1,
      position: 1,
      rows_total: 1,
      rows_failed: 1,
      columns: JSON.stringify(['user_id', 'city']),
    })
    .execute()
  const { chunk, line } = errorChunkOf({ appId, importId, position: 1, columns: ['user_id', 'city'] }, ['late', 'Rom'])
  await fixture.database.db.insertInto('import_error_chunks').values(chunk).execute()
  expect(await runOnce(importId, { ...fixture.context, storage: full })).toBe('postponed')
  expect(await runOnce(importId)).toBe('failed')
  expect((await resultOf(fixture, appId, importId)).errorFile?.toString()).toContain(line)
})
