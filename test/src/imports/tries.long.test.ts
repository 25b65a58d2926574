import { connect, sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'
import { claim, type ImportFixture } from './import-fixture.ts'
import { attempts, openTriesFixture, type TriesFixture } from './tries-fixture.ts'

// The faults of tries.test.ts that last until a limit of Postgres or of the connection.
const noShutdown = new AbortController().signal
let tries: TriesFixture
let fixture: ImportFixture
let appId: number

beforeEach(async () => {
  tries = await openTriesFixture()
  ;({ fixture, appId } = tries)
  return () => fixture.close()
})

test('a transaction that waits for another writer’s lock until its time limit is no failed try, not even the last one', async () => {
  const release = await tries.lockProfile()
  const context = { ...fixture.context, settings: { ...fixture.context.settings, IMPORT_ATTEMPTS: 1 } }
  const importId = await tries.queue()
  expect(await tries.runOnce(importId, context)).toBe('postponed')
  await release()
  expect(await tries.runOnce(importId, context)).toBe('completed')
  await tries.expectCompleted(importId)
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

  /**
   * Ends the statements of broken connections in Postgres. Otherwise they would commit the batch when the lock is
   * released.
   */
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
    const release = await tries.lockProfile()
    const importId = await tries.queue()
    for (let attempt = 0; attempt < attempts + 1; attempt++) {
      const running = tries.runOnce(importId, context)
      await until('a batch that waits for the lock', async () => (await lockWaits(fixture.database.db)).length > 0)
      breakIt(proxy)
      await endWaiting()
      mendIt(proxy)
      expect(await running).toBe('postponed')
      expect(await tries.triesOf(importId)).toBe(0)
    }
    await release()
    expect(await tries.runOnce(importId, context)).toBe('completed')
    await tries.expectCompleted(importId)
  })

  test('and stays half-open until the claim is lost', async () => {
    const importId = await tries.queue()
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
    expect(await tries.triesOf(importId)).toBe(2)
    proxy.set({ kind: 'fine' })
    await until('the try to be uncounted', async () => (await tries.triesOf(importId)) === 1)
  })
})
