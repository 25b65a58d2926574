import { sql } from '@sluice/database'
import { cancelImport, reportCancelled, runImport } from '@sluice/imports'
import { beforeEach, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { beginToMakeRoom, chunksOf, type DiskFullFixture, openDiskFullFixture } from './disk-full-fixture.ts'
import { hold, release } from './holds.ts'
import { claim, type ImportFixture, resultOf } from './import-fixture.ts'

// What happens to other imports while one makes room on a full disk. disk-full.long.test.ts has further cases.
// `faults/disk-full.long.test.ts` uses a disk that is really full.
const noShutdown = new AbortController().signal
let diskFull: DiskFullFixture
let fixture: ImportFixture
let appId: number
let importId: string
beforeEach(async () => {
  diskFull = await openDiskFullFixture()
  ;({ fixture, appId, importId } = diskFull)
  return () => fixture.close()
})

test('rows that were set aside are restored', async () => {
  const before = await chunksOf(fixture, importId)
  const { made, largest } = await beginToMakeRoom(diskFull)
  await release(fixture, 'marking')
  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await chunksOf(fixture, importId)).toBe(before)
  expect((await resultOf(fixture, appId, importId)).view).not.toHaveProperty('error_file_ends_before_row')
  expect((await largest()).view).toMatchObject({ error_file_ends_before_row: 1 })
})

test('a batch that is committed without its rows while other rows are set aside leaves no gap in its error file', async () => {
  const { db } = fixture.database
  await hold(fixture, 'batch', `new.import_id = '${importId}' and new.position <> old.position`)
  const again = await claim(fixture, appId, importId)
  const { made } = await beginToMakeRoom(diskFull)
  const running = runImport(fixture.context, again, noShutdown)
  const waits = (text: string) =>
    until(`${text} to wait`, async () => (await lockWaits(db)).some((statement) => statement.includes(text)))
  await waits('insert into import_chunks')
  await release(fixture, 'marking')
  // `lock table` waits for the batch, which has already seen that no rows are kept.
  await waits('lock table import_chunks')
  await release(fixture, 'batch')

  expect(await made).toEqual({ outcome: 'postponed' })
  expect(await running).toMatchObject({ outcome: 'completed' })
  const { view, errorFile } = await resultOf(fixture, appId, importId)
  expect(errorFile).toBeUndefined()
  expect(view).toMatchObject({ rows_failed: 60, error_file_ends_before_row: 1 })
})

test('an error file that is planned while its rows are removed does not count as complete', async () => {
  const { db } = fixture.database
  await cancelImport(db, { appId, importId })
  const { made } = await db.transaction().execute(async (tx) => {
    await sql`lock table import_chunks in access exclusive mode`.execute(tx)
    const reporting = reportCancelled(fixture.context)
    await until('the report to wait for the rows', async () => (await lockWaits(db)).length > 0)
    await tx.updateTable('imports').set({ error_file_ends_before_row: 1 }).where('import_id', '=', importId).execute()
    await sql`truncate import_chunks`.execute(tx)
    return { made: reporting }
  })
  expect(await made).toHaveLength(1)
  const { view } = await resultOf(fixture, appId, importId)
  expect(view).toMatchObject({ state: 'cancelled', error_file_url: null, error_file_ends_before_row: 1 })
})
