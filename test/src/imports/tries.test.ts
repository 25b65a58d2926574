import { connect, sql } from '@sluice/database'
import { type Storage, StorageFull } from '@sluice/storage'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { untilInTrigger } from '../faults/harness/import-states.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'
import { errorChunkOf } from './error-chunk.ts'
import { hold, release } from './holds.ts'
import { type ImportFixture, resultOf } from './import-fixture.ts'
import { attempts, expectUncounted, failBatches, openTriesFixture, raise, type TriesFixture } from './tries-fixture.ts'

// A try counts only if the file may be at fault. Without outside delays, such a file fails after IMPORT_ATTEMPTS tries.
// tries.long.test.ts has further reasons.
let tries: TriesFixture
let fixture: ImportFixture
let appId: number

beforeEach(async () => {
  tries = await openTriesFixture()
  ;({ fixture, appId } = tries)
  return () => fixture.close()
})

describe('a try that Postgres ends for a reason outside the file does not count', () => {
  test.each([
    ['a lock that was not available', raise('55P03')],
    ['a server that shuts down', raise('57P01')],
    ['a server that only reads', raise('25006')],
    ['a broken connection, as Postgres reports it', raise('08006')],
    ['a backend that was terminated', 'perform pg_terminate_backend(pg_backend_pid())'],
  ])('%s', async (_, statement) => {
    await expectUncounted(tries, statement)
  })

  test('but a try that the file’s own data may have ended counts', async () => {
    const importId = await tries.queue()
    await failBatches(fixture, raise('22000'))
    const outcomes: string[] = []
    for (let attempt = 0; attempt < attempts; attempt++) outcomes.push(await tries.runOnce(importId))
    expect(outcomes).toEqual(['postponed', 'postponed', 'failed'])
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
    const importId = await tries.queue()
    await hold(fixture, 'commit', 'old.position <> new.position', 'commit')
    const running = tries.runOnce(importId, context)
    await untilInTrigger(fixture.database.db)
    proxy.reset()
    await release(fixture, 'commit')
    expect(await running).toBe('postponed')
    expect(await tries.runOnce(importId)).toBe('completed')
    await tries.expectCompleted(importId)
    const { view, errorFile } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ rows_total: 3, rows_failed: 1, types: { city: 'string' } })
    expect(errorFile?.toString()).toContain('nobody,Wien\n')
  })

  test('while the end is written: the import does not end without its rows', async () => {
    const importId = await tries.queue()
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
    expect(await tries.runOnce(importId, { ...fixture.context, storage: slow })).toBe('lost')
    expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'processing', rows_total: 4 })
    const past = new Date(Date.now() - 1_000)
    await fixture.database.db.updateTable('imports').set({ lease_until: past }).execute()
    expect(await tries.runOnce(importId)).toBe('completed')
    const { view, errorFile } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ rows_total: 4, rows_failed: 2 })
    expect(errorFile?.toString()).toContain(line)
  })
})

test('a file that fails its last try during an outage of storage waits for its error file', async () => {
  const importId = await tries.queue()
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
  expect(await tries.runOnce(importId, { ...fixture.context, storage: full })).toBe('postponed')
  expect(await tries.runOnce(importId)).toBe('failed')
  expect((await resultOf(fixture, appId, importId)).errorFile?.toString()).toContain(line)
})
