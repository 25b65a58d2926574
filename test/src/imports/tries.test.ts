import { connect, sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { type Storage, StorageFull } from '@sluice/storage'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { untilInTrigger } from '../faults/harness/import-states.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'
import { errorChunkOf } from './error-chunk.ts'
import { endLease, endPause } from './forced-states.ts'
import { hold, release } from './holds.ts'
import { claim, openApp, queueFile, resultOf } from './import-fixture.ts'
import { attempts, expectUncounted, failBatches, openTriesFixture, raise } from './tries-fixture.ts'

// A try counts only if the file may be at fault. Without outside delays, such a file fails after IMPORT_ATTEMPTS tries.
// tries.long.test.ts has further reasons.
const tries = openBeforeEach(openTriesFixture)

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
    await failBatches(tries, raise('22000'))
    const outcomes: string[] = []
    for (let attempt = 0; attempt < attempts; attempt++) outcomes.push(await tries.runOnce(importId))
    expect(outcomes).toEqual(['postponed', 'postponed', 'failed'])
  })
})

describe('a transaction that runs out of time', () => {
  test.each(['25P04', '57014'])(
    'counts as a try only if it has a single row, and the import then ends (%s)',
    async (code) => {
      const importId = await tries.queue()
      await failBatches(tries, raise(code))
      const outcomes: string[] = []
      for (let attempt = 0; attempt <= attempts; attempt++) outcomes.push(await tries.runOnce(importId))
      expect(outcomes).toEqual(['postponed', 'postponed', 'postponed', 'failed'])
      const mails = await tries.database.db.selectFrom('mails').select('text').execute()
      expect(mails.map(({ text }) => text)).toEqual([
        expect.stringContaining(`could not be processed in ${attempts} attempts`),
      ])
    },
  )

  test('is cut smaller until it fits, and then its rows are applied once', async () => {
    const users = Array.from({ length: 100 }, (_, index) => `u${index}`)
    const app = await openApp(tries, users)
    const importId = await queueFile(tries, app, `user_id,n\n${users.map((user) => `${user},1\n`).join('')}`)
    await failBatches(tries, `if new.rows_total - old.rows_total > 10 then ${raise('57014')}; end if`)
    const outcomes: string[] = []
    for (let run = 0; run < 3; run++) outcomes.push(await runOf(app, importId))
    expect(outcomes).toEqual(['postponed', 'postponed', 'completed'])
    expect((await resultOf(tries, app, importId)).view).toMatchObject({ rows_total: 100, rows_changed: 100 })
  })

  test('does not change the types of columns, even if another worker continues within a batch', async () => {
    const users = Array.from({ length: 8 }, (_, index) => `u${index}`)
    const app = await openApp(tries, users)
    const cells = ['', '', '', '', '1', '2', 'x', 'y']
    const lines = users.map((user, index) => `${user},1,${cells[index]}\n`)
    const importId = await queueFile(tries, app, `user_id,n,late\n${lines.join('')}`)
    await failBatches(
      tries,
      `if new.rows_total - old.rows_total > 1 then ${raise('25P04')}; end if;
      if new.rows_total = 6 and not exists (select from deleted_apps) then
        perform pg_terminate_backend(pg_backend_pid());
      end if`,
    )
    const settings = { ...tries.context.settings, BATCH_ROWS: 4, INFERENCE_ROWS: 2 }
    const context = { ...tries.context, settings }
    expect(await runOf(app, importId, context)).toBe('postponed')
    expect(await runOf(app, importId, context)).toBe('postponed')
    expect((await resultOf(tries, app, importId)).view).toMatchObject({ rows_total: 5, types: { late: 'string' } })
    await sql`insert into deleted_apps values (0, now())`.execute(tries.database.db)
    expect(await runOf(app, importId, context)).toBe('completed')
    const { view } = await resultOf(tries, app, importId)
    expect(view).toMatchObject({ rows_total: 8, rows_applied: 8, types: { n: 'int', late: 'string' } })
  })
})

/** Runs one try of an import of any app. */
async function runOf(app: number, importId: string, context = tries.context): Promise<string> {
  await endPause(tries.database.db, importId)
  return (await runImport(context, await claim(tries, app, importId), new AbortController().signal)).outcome
}

describe('a batch that commits without its worker learning of it', () => {
  test('because the connection breaks in the last try’s COMMIT: its rows count once, with their types and errors', async () => {
    const proxy = await startTcpProxy(() => Number(new URL(tries.database.url).port))
    const proxied = connect(throughProxy(tries.database.url, proxy))
    onTestFinished(async () => {
      await proxy.close()
      await proxied.close()
    })
    const settings = { ...tries.context.settings, IMPORT_ATTEMPTS: 1 }
    const context = { ...tries.context, db: proxied.db, settings }
    const importId = await tries.queue()
    await hold(tries, 'commit', 'old.position <> new.position', 'commit')
    const running = tries.runOnce(importId, context)
    await untilInTrigger(tries.database.db)
    proxy.reset()
    await release(tries, 'commit')
    expect(await running).toBe('postponed')
    expect(await tries.runOnce(importId)).toBe('completed')
    await tries.expectCompleted(importId)
    const { view, errorFile } = await resultOf(tries, tries.appId, importId)
    expect(view).toMatchObject({ rows_total: 3, rows_failed: 1, types: { city: 'string' } })
    expect(errorFile?.toString()).toContain('nobody,Wien\n')
  })

  test('while the end is written: the import does not end without its rows', async () => {
    const importId = await tries.queue()
    const { chunk, line } = errorChunkOf(
      { appId: tries.appId, importId, position: 1_000, columns: ['user_id', 'city'] },
      ['late', 'Rom'],
    )
    let late = true
    const slow: Storage = {
      ...tries.storage,
      async writeStream(key, content, contentType, options) {
        await tries.storage.writeStream(key, content, contentType, options)
        if (!late) return
        late = false
        // The error file is stored. The batch that was in flight to Postgres all the time commits now.
        const counted = sql<number>`rows_total + 1`
        await tries.database.db.insertInto('import_chunks').values(chunk).execute()
        await tries.database.db.updateTable('imports').set({ rows_total: counted, rows_failed: 2 }).execute()
      },
    }
    expect(await tries.runOnce(importId, { ...tries.context, storage: slow })).toBe('lost')
    expect((await resultOf(tries, tries.appId, importId)).view).toMatchObject({ state: 'processing', rows_total: 4 })
    await endLease(tries.database.db, importId)
    expect(await tries.runOnce(importId)).toBe('completed')
    const { view, errorFile } = await resultOf(tries, tries.appId, importId)
    expect(view).toMatchObject({ rows_total: 4, rows_failed: 2 })
    expect(errorFile?.toString()).toContain(line)
  })
})

test('a file that fails its last try during an outage of storage waits for its error file', async () => {
  const importId = await tries.queue()
  const full: Storage = {
    ...tries.storage,
    async writeStream(key) {
      throw new StorageFull(key)
    },
  }
  await tries.database.db
    .updateTable('imports')
    .set({
      tries: attempts + 1,
      position: 1,
      rows_total: 1,
      rows_failed: 1,
      columns: JSON.stringify(['user_id', 'city']),
    })
    .execute()
  const { chunk, line } = errorChunkOf({ appId: tries.appId, importId, position: 1, columns: ['user_id', 'city'] }, [
    'late',
    'Rom',
  ])
  await tries.database.db.insertInto('import_chunks').values(chunk).execute()
  expect(await tries.runOnce(importId, { ...tries.context, storage: full })).toBe('postponed')
  expect(await tries.runOnce(importId)).toBe('failed')
  expect((await resultOf(tries, tries.appId, importId)).errorFile?.toString()).toContain(line)
})
