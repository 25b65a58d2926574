import { connect, sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { untilInTrigger } from '../faults/harness/import-states.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'
import { endLease, endPause } from './forced-states.ts'
import { hold, release } from './holds.ts'
import { claim, importFile, openApp, queueFile, resultOf } from './import-fixture.ts'
import { attempts, expectUncounted, openTriesFixture, raise, type TriesFixture } from './tries-fixture.ts'

// Faults of tries.test.ts that last until a limit of Postgres or of the connection, and further reasons of Postgres.
const noShutdown = new AbortController().signal
const tries = openBeforeEach(openTriesFixture)

describe('a try that Postgres ends for a reason outside the file does not count', () => {
  test.each([
    ['a transaction that did nothing for too long', raise('25P03')],
    ['a server that crashed', raise('57P02')],
    ['a server that starts', raise('57P03')],
    ['a deadlock in each of ten repetitions', raise('40P01')],
  ])('%s', async (_, statement) => {
    await expectUncounted(tries, statement)
  })
})

test('another writer’s lock on a profile that outlasts every try delays the import, which completes afterwards', async () => {
  const unlock = await tries.lockProfile()
  const impatient = connect(tries.database.url, { lockTimeoutMs: 100 })
  onTestFinished(() => impatient.close())
  const importId = await tries.queue()
  const context = { ...tries.context, db: impatient.db }
  for (let attempt = 0; attempt < attempts + 2; attempt++)
    expect(await tries.runOnce(importId, context)).toBe('postponed')
  await unlock()
  expect(await tries.runOnce(importId)).toBe('completed')
  await tries.expectCompleted(importId)
})

test('a transaction that waits for another writer’s lock until its time limit is no failed try, not even the last one', async () => {
  const unlock = await tries.lockProfile()
  const context = { ...tries.context, settings: { ...tries.context.settings, IMPORT_ATTEMPTS: 1 } }
  const importId = await tries.queue()
  expect(await tries.runOnce(importId, context)).toBe('postponed')
  await unlock()
  expect(await tries.runOnce(importId, context)).toBe('completed')
  await tries.expectCompleted(importId)
}, 90_000)

/** Makes each write of a profile take a while. */
const slowProfiles = (seconds: number) =>
  sql
    .raw(`
    create function rest() returns trigger language plpgsql as $$ begin perform pg_sleep(${seconds}); return new; end $$;
    create trigger rest before insert or update on profiles for each row execute function rest()
  `)
    .execute(tries.database.db)

const usersOf = (count: number) => Array.from({ length: count }, (_, index) => `u${index}`)
const fileOf = (users: readonly string[]) => `user_id,n\n${users.map((user) => `${user},1\n`).join('')}`

test('a batch whose writes take longer than a transaction may is cut smaller, and the import completes', async () => {
  const users = usersOf(50)
  const app = await openApp(tries, users)
  const importId = await queueFile(tries, app, fileOf(users))
  await slowProfiles(0.5)
  const run = async () => (await runImport(tries.context, await claim(tries, app, importId), noShutdown)).outcome
  expect(await run()).toBe('postponed')
  expect(await tries.triesOf(importId)).toBe(0)
  await endPause(tries.database.db, importId)
  expect(await run()).toBe('completed')
  expect((await resultOf(tries, app, importId)).view).toMatchObject({ rows_total: 50, rows_applied: 50 })
}, 120_000)

test('batches that take a third of a transaction’s time and wait for each other are written in one try', async () => {
  const users = usersOf(4)
  const app = await openApp(tries, users)
  await importFile(tries, app, 'user_id,n\nu0,0\n') // registers the key: batches that may register keys never wait
  const importId = await queueFile(tries, app, fileOf(users))
  await slowProfiles(7)
  const context = { ...tries.context, settings: { ...tries.context.settings, BATCH_ROWS: 1 } }
  expect((await runImport(context, await claim(tries, app, importId), noShutdown)).outcome).toBe('completed')
  expect((await resultOf(tries, app, importId)).view).toMatchObject({ rows_total: 4, rows_applied: 4 })
}, 120_000)

describe('a connection to Postgres that breaks under a batch uses up no try', () => {
  let proxy: TcpProxy
  let context: TriesFixture['context']
  beforeEach(async () => {
    proxy = await startTcpProxy(() => Number(new URL(tries.database.url).port))
    const proxied = connect(throughProxy(tries.database.url, proxy), { queryTimeoutMs: 1_000 })
    context = { ...tries.context, db: proxied.db }
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
      `.execute(tries.database.db)
      return (await lockWaits(tries.database.db)).length === 0
    })

  test.each([
    ['by a reset', (broken: TcpProxy) => broken.reset(), (_: TcpProxy) => {}],
    [
      'and cannot be opened again at first',
      (broken: TcpProxy) => broken.set({ kind: 'refuse' }),
      (broken: TcpProxy) => broken.set({ kind: 'fine' }),
    ],
  ])('%s', async (_, breakIt, mendIt) => {
    const unlock = await tries.lockProfile()
    const importId = await tries.queue()
    for (let attempt = 0; attempt < attempts + 1; attempt++) {
      const running = tries.runOnce(importId, context)
      await until('a batch that waits for the lock', async () => (await lockWaits(tries.database.db)).length > 0)
      breakIt(proxy)
      await endWaiting()
      mendIt(proxy)
      expect(await running).toBe('postponed')
      expect(await tries.triesOf(importId)).toBe(0)
    }
    await unlock()
    expect(await tries.runOnce(importId, context)).toBe('completed')
    await tries.expectCompleted(importId)
  })

  /** Lets an import lose its claim in silence, and another worker claim it. */
  async function loseClaim(): Promise<string> {
    const importId = await tries.queue()
    const claimed = await claim(tries, tries.appId, importId)
    proxy.set({ kind: 'stall' })
    const settings = { ...context.settings, IMPORT_LEASE: 2_000 }
    expect((await runImport({ ...context, settings }, claimed, noShutdown)).outcome).toBe('lost')
    await endLease(tries.database.db, importId)
    await claim(tries, tries.appId, importId)
    expect(await tries.triesOf(importId)).toBe(2)
    return importId
  }

  test('and stays half-open until the claim is lost', async () => {
    const importId = await loseClaim()
    proxy.set({ kind: 'fine' })
    await until('the try to be uncounted', async () => (await tries.triesOf(importId)) === 1)
  })

  test('and breaks again before the worker learns that the try is uncounted, which happens once', async () => {
    const importId = await loseClaim()
    await countDiscounts()
    await hold(tries, 'discount', 'old.tries > new.tries', 'commit')
    proxy.set({ kind: 'fine' })
    await untilInTrigger(tries.database.db)
    proxy.reset()
    await release(tries, 'discount')
    await until('the repetition', async () => {
      const { rows } = await sql`select from discounts`.execute(tries.database.db)
      return rows.length === 2
    })
    expect(await tries.triesOf(importId)).toBe(1)
  })

  /** Makes Postgres note each statement that only uncounts a try, whether or not it finds the import. */
  const countDiscounts = () =>
    sql
      .raw(`
      create table discounts ();
      create function note_discount() returns trigger language plpgsql as $$ begin
        if current_query() like 'update "imports" set "tries" =%' then insert into discounts default values; end if;
        return null;
      end $$;
      create trigger note_discount after update on imports for each statement execute function note_discount()
    `)
      .execute(tries.database.db)
})
