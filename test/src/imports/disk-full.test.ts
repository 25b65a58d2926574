import { sql } from '@sluice/database'
import { cancelImport, makeRoomAfter, reportCancelled, runImport } from '@sluice/imports'
import { beforeEach, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import {
  claim,
  type ImportFixture,
  openApp,
  openImportFixture,
  queueFile,
  type Result,
  resultOf,
} from './import-fixture.ts'
import { slowReads } from './slow-storage.ts'

// What happens to other imports while one makes room on a full disk. `faults/disk-full.long.test.ts` uses a disk that
// is really full.
let fixture: ImportFixture
let appId: number
/** Half of this import is committed, and some of its error rows are kept. */
let importId: string
const noShutdown = new AbortController().signal
const file = `user_id,n\n${Array.from({ length: 60 }, (_, row) => `ghost${row},1\n`).join('')}`

beforeEach(async () => {
  fixture = await openImportFixture({ BATCH_ROWS: '5', INFERENCE_ROWS: '5' })
  appId = await openApp(fixture)
  importId = await queueFile(fixture, appId, file)
  const shutdown = new AbortController()
  const storage = slowReads(fixture.storage, 50, (at) => {
    if (at >= file.length / 2) shutdown.abort()
  })
  const context = { ...fixture.context, storage, shutdown: shutdown.signal }
  await runImport(context, await claim(fixture, appId, importId), shutdown.signal)
  expect(await chunksOf(importId)).toBeGreaterThan(0)
  return () => fixture.close()
})

/** Inserts `chunks` error chunks of `bytes` bytes each for the import, to fill the disk. No test reads them. */
async function keepMore(chunks: number, bytes: number): Promise<void> {
  await sql`
    insert into import_error_chunks (app_id, import_id, position, content, starts_at, bytes)
    select ${appId}, ${importId}, -number, ${Buffer.alloc(bytes)}, 0, 0 from generate_series(1, ${chunks}::integer) number
  `.execute(fixture.database.db)
}

async function chunksOf(id: string): Promise<number> {
  const { rows } = await sql`select from import_error_chunks where import_id = ${id}`.execute(fixture.database.db)
  return rows.length
}

/**
 * Begins to make room on a full disk: a large import keeps many error rows, and the rows of a third import find no
 * room. Returns when the rows are about to be removed, with the outcome of making room and a function that reads the
 * large import.
 */
async function beginToMakeRoom(): Promise<{ largest: () => Promise<Result>; made: Promise<unknown> }> {
  const { db } = fixture.database
  const otherApp = await openApp(fixture)
  const largest = await queueFile(fixture, otherApp, file)
  const chunk = {
    app_id: otherApp,
    import_id: largest,
    position: 1,
    content: Buffer.alloc(2 ** 21),
    starts_at: 0,
    bytes: 0,
  }
  await db.insertInto('import_error_chunks').values(chunk).execute()
  await hold('marking', `new.import_id = '${importId}' and new.error_file_ends_before_row > 0`)
  const made = await failOnFullDisk()
  await untilOneIsHeld()
  return { made: made.outcome, largest: () => resultOf(fixture, otherApp, largest) }
}

/** Begins an import whose error rows find no room. */
async function failOnFullDisk(): Promise<{ outcome: Promise<unknown> }> {
  const app = await openApp(fixture)
  const full = await queueFile(fixture, app, file)
  const name = `refuse_${full.replaceAll('-', '')}`
  await run(`
    create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$;
    create trigger ${name} before insert on import_error_chunks for each row when (new.import_id = '${full}')
      execute function ${name}()
  `)
  return { outcome: runImport(fixture.context, await claim(fixture, app, full), noShutdown) }
}

const untilOneIsHeld = () =>
  until('an update to be held', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
    `.execute(fixture.database.db)
    return rows.length > 0
  })

async function isReserved(): Promise<boolean> {
  const { rows } = await sql`select from disk_reserve limit 1`.execute(fixture.database.db)
  return rows.length > 0
}

const run = (statement: string) => sql.raw(statement).execute(fixture.database.db)

/** Makes updates of imports wait if `condition` on `old` and `new` holds, until `release(name)`. */
async function hold(name: string, condition: string): Promise<void> {
  await run(`
    create table if not exists holds (name text);
    insert into holds values ('${name}');
    create function hold_${name}() returns trigger language plpgsql as $$
    begin
      while exists (select from holds where name = '${name}') loop perform pg_sleep(0.01); end loop;
      return new;
    end $$;
    create trigger hold_${name} before update on imports for each row when (${condition}) execute function hold_${name}()
  `)
}

const release = (name: string) => run(`delete from holds where name = '${name}'`)

test('rows that were set aside are restored', async () => {
  const before = await chunksOf(importId)
  const { made, largest } = await beginToMakeRoom()
  await release('marking')
  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await chunksOf(importId)).toBe(before)
  expect((await resultOf(fixture, appId, importId)).view).not.toHaveProperty('error_file_ends_before_row')
  expect((await largest()).view).toMatchObject({ error_file_ends_before_row: 1 })
})

test('rows that a deletion would have dropped meanwhile are not restored', async () => {
  const { made } = await beginToMakeRoom()
  const deleted = { app_id: appId, user_hash: Buffer.alloc(32), deleted_at: sql<Date>`clock_timestamp()` }
  await fixture.database.db.insertInto('recently_deleted_users').values(deleted).execute()
  await release('marking')
  await made
  expect(await chunksOf(importId)).toBe(0)
  expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ error_file_ends_before_row: 1 })
})

test('a batch that is committed without its rows while other rows are set aside leaves no gap in its error file', async () => {
  const { db } = fixture.database
  await hold('batch', `new.import_id = '${importId}' and new.position <> old.position`)
  const again = await claim(fixture, appId, importId)
  const { made } = await beginToMakeRoom()
  const running = runImport(fixture.context, again, noShutdown)
  const waits = (text: string) =>
    until(`${text} to wait`, async () => (await lockWaits(db)).some((statement) => statement.includes(text)))
  await waits('insert into import_error_chunks')
  await release('marking')
  // `lock table` waits for the batch, which has already seen that no rows are kept.
  await waits('lock table import_error_chunks')
  await release('batch')

  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await running).toMatchObject({ outcome: 'completed' })
  const { view, errorFile } = await resultOf(fixture, appId, importId)
  expect(errorFile).toBeUndefined()
  expect(view).toMatchObject({ rows_failed: 60, error_file_ends_before_row: 1 })
})

test('an error file that is planned while its rows are removed does not count as complete', async () => {
  const { db } = fixture.database
  await cancelImport(db, importId, appId)
  const { made } = await db.transaction().execute(async (tx) => {
    await sql`lock table import_error_chunks in access exclusive mode`.execute(tx)
    const reporting = reportCancelled(fixture.context)
    await until('the report to wait for the rows', async () => (await lockWaits(db)).length > 0)
    await tx.updateTable('imports').set({ error_file_ends_before_row: 1 }).where('import_id', '=', importId).execute()
    await sql`truncate import_error_chunks`.execute(tx)
    return { made: reporting }
  })
  expect(await made).toHaveLength(1)
  const { view } = await resultOf(fixture, appId, importId)
  expect(view).toMatchObject({ state: 'cancelled', error_file_url: null, error_file_ends_before_row: 1 })
})

test('thousands of chunks are restored', async () => {
  await keepMore(10_000, 1)
  const before = await chunksOf(importId)
  const { made } = await beginToMakeRoom()
  await release('marking')
  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await chunksOf(importId)).toBe(before)
})

test('an import whose rows are being restored does not lose them to the next worker that finds the disk full', async () => {
  await keepMore(1, 1.5 * 2 ** 20)
  const before = await chunksOf(importId)
  await hold('return', `new.import_id = '${importId}' and new.error_file_ends_before_row is null`)
  const error = await run(`do $$ begin raise exception 'full' using errcode = 'disk_full'; end $$`).catch(
    (reason: unknown) => reason,
  )
  const { made } = await beginToMakeRoom()
  await release('marking')
  await until('the rows to be removed', async () => {
    return (await resultOf(fixture, appId, importId)).view.error_file_ends_before_row === 1
  })
  await untilOneIsHeld()
  let over = false
  const next = makeRoomAfter(error, fixture.context).finally(() => {
    over = true
  })
  const waits = async () => (await lockWaits(fixture.database.db)).length > 0
  await until('the next worker to wait, or to leave the disk to the first one', async () => over || (await waits()))
  await release('return')
  await next
  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await chunksOf(importId)).toBe(before)
})

test('the reserve is filled again, although another transaction keeps the rows from being removed', async () => {
  const { db } = fixture.database
  await keepMore(1, 1.5 * 2 ** 20)
  await db.transaction().execute(async (tx) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
    await sql`lock table import_error_chunks in access share mode`.execute(tx)
    const { outcome } = await failOnFullDisk()
    expect(await outcome).toEqual({ outcome: 'postponed' })
    expect(await isReserved()).toBe(true)
  })
})
