import { sql } from '@sluice/database'
import { beforeEach, expect, test } from 'vitest'
import { eachWithAppInOrder } from '../imports/app-in-order.ts'
import { replay } from '../labs/model/replay.ts'
import { recordedHistory, watchImports } from './harness/watcher.ts'

const app = eachWithAppInOrder()
beforeEach(() => watchImports(app.db))

test('a claim may pass an upload whose transaction has not ended, and none that was queued before', async () => {
  const first = await app.awaitUpload()
  const second = await app.awaitUpload()
  await app.uploadAndNotice(second)
  const longAgo = sql<Date>`now() - interval '1 hour'`
  await app.db.transaction().execute(async (tx) => {
    await tx
      .updateTable('imports')
      .set({ state: 'queued', queued_at: longAgo })
      .where('import_id', '=', first)
      .execute()
    await app.age(second, 60)
    await app.claim(second)
  })
  const history = await recordedHistory(app.db, 30_000)
  expect(await replay(history)).toEqual([])
  const seen = history.map((change) => ({ ...change, unseen: [] }))
  expect(await replay(seen)).toEqual([expect.stringContaining(second)])
})
