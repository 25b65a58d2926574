import { sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { importFile, openApp, openImportFixture } from './import-fixture.ts'

const users = Array.from({ length: 60_000 }, (_, index) => `user${index}`)
const file = (value: number) => `user_id,n\n${users.map((id) => `${id},${value}\n`).join('')}`

test('batches are joined to larger transactions after a while, except if somebody waits for a row', async () => {
  const rowsOfBatches: number[] = []
  const fixture = await openImportFixture()
  onTestFinished(() => fixture.close())
  fixture.context.onBatch = ({ rowsApplied }) => rowsOfBatches.push(rowsApplied)
  const { db } = fixture.database
  const appId = await openApp(fixture, users)
  const importWith = async (value: number) => {
    rowsOfBatches.length = 0
    const { view } = await importFile(fixture, appId, file(value))
    expect(view).toMatchObject({ state: 'completed', rows_applied: users.length })
    return [...rowsOfBatches]
  }

  const small = [1_000, ...Array<number>(16).fill(2_500)]
  expect(await importWith(1)).toEqual([...small, 10_000, 9_000])

  // One transaction holds a row that no import needs, and another one waits for it.
  const other = await openApp(fixture)
  const touch = sql`select from apps where app_id = ${other} for update`
  const hold = await db.startTransaction().execute()
  await touch.execute(hold)
  const waiting = touch.execute(db)
  await until('an update to wait for the row', async () => (await lockWaits(db, 'transactionid')).length > 0)
  expect(await importWith(2)).toEqual([1_000, ...Array<number>(23).fill(2_500), 1_500])
  await hold.rollback().execute()
  await waiting
  expect(await importWith(3)).toEqual([...small, 10_000, 9_000])
})
