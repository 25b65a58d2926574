import { sql } from '@sluice/database'
import { makeRoomAfter } from '@sluice/imports'
import { beforeEach, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { untilInTrigger } from '../faults/harness/import-states.ts'
import {
  beginToMakeRoom,
  chunksOf,
  type DiskFullFixture,
  failOnFullDisk,
  openDiskFullFixture,
  run,
} from './disk-full-fixture.ts'
import { hold, release } from './holds.ts'
import { type ImportFixture, resultOf } from './import-fixture.ts'

// Further cases of disk-full.test.ts: deletions, many rows, a second worker and a blocked removal.
let diskFull: DiskFullFixture
let fixture: ImportFixture
let appId: number
let importId: string
beforeEach(async () => {
  diskFull = await openDiskFullFixture()
  ;({ fixture, appId, importId } = diskFull)
  return () => fixture.close()
})

/** Inserts `chunks` error chunks of `bytes` bytes each for the import, to fill the disk. No test reads them. */
async function keepMore(chunks: number, bytes: number): Promise<void> {
  await sql`
    insert into import_chunks (app_id, import_id, position, content, starts_at, bytes)
    select ${appId}, ${importId}, -number, ${Buffer.alloc(bytes)}, 0, 0 from generate_series(1, ${chunks}::integer) number
  `.execute(fixture.database.db)
}

async function isReserved(): Promise<boolean> {
  const { rows } = await sql`select from disk_reserve limit 1`.execute(fixture.database.db)
  return rows.length > 0
}

test('rows that a deletion would have dropped meanwhile are not restored', async () => {
  const { made } = await beginToMakeRoom(diskFull)
  const deleted = { app_id: appId, user_hash: Buffer.alloc(32), deleted_at: sql<Date>`clock_timestamp()` }
  await fixture.database.db.insertInto('recently_deleted_users').values(deleted).execute()
  await release(fixture, 'marking')
  await made
  expect(await chunksOf(fixture, importId)).toBe(0)
  expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ error_file_ends_before_row: 1 })
})

test('thousands of chunks are restored', async () => {
  await keepMore(10_000, 1)
  const before = await chunksOf(fixture, importId)
  const { made } = await beginToMakeRoom(diskFull)
  await release(fixture, 'marking')
  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await chunksOf(fixture, importId)).toBe(before)
})

test('an import whose rows are being restored does not lose them to the next worker that finds the disk full', async () => {
  await keepMore(1, 1.5 * 2 ** 20)
  const before = await chunksOf(fixture, importId)
  await hold(fixture, 'return', `new.import_id = '${importId}' and new.error_file_ends_before_row is null`)
  const error = await run(fixture, `do $$ begin raise exception 'full' using errcode = 'disk_full'; end $$`).catch(
    (reason: unknown) => reason,
  )
  const { made } = await beginToMakeRoom(diskFull)
  await release(fixture, 'marking')
  await until('the rows to be removed', async () => {
    return (await resultOf(fixture, appId, importId)).view.error_file_ends_before_row === 1
  })
  await untilInTrigger(fixture.database.db)
  let over = false
  const next = makeRoomAfter(error, fixture.context).finally(() => {
    over = true
  })
  const waits = async () => (await lockWaits(fixture.database.db)).length > 0
  await until('the next worker to wait, or to leave the disk to the first one', async () => over || (await waits()))
  await release(fixture, 'return')
  await next
  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await chunksOf(fixture, importId)).toBe(before)
})

test('the reserve is filled again, although another transaction keeps the rows from being removed', async () => {
  const { db } = fixture.database
  await keepMore(1, 1.5 * 2 ** 20)
  await db.transaction().execute(async (tx) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
    await sql`lock table import_chunks in access share mode`.execute(tx)
    const { outcome } = await failOnFullDisk(fixture)
    expect(await outcome).toEqual({ outcome: 'postponed' })
    expect(await isReserved()).toBe(true)
  })
})
