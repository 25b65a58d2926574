import { join } from 'node:path'
import { createApp } from '@sluice/accounts'
import { type Connection, connect, type Database, migrate, sql } from '@sluice/database'
import { startPostgres } from '@sluice/local-stack'
import { joinedProfileUpdates, registerUsers } from '@sluice/profiles'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openScratch } from '../environment/scratch.ts'
import { until } from '../environment/wait.ts'
import { startTcpProxy, type TcpProxy } from '../faults/harness/tcp-proxy.ts'
import { killPostgres, type Standby, startStandby } from './standby.ts'

// docs/operations.md, Failover of Postgres. Clients have one address, which leads to the server that is the primary.
const failovers = 20
const updatesEach = 500
const writers = 8

interface Server {
  url: string
  dataDirectory: string
  close(): Promise<void>
}

const parts = new AsyncDisposableStack()
let primary: Server
let standby: Standby
let address: TcpProxy
let clients: Connection
let appId: number
let updates: ReturnType<typeof joinedProfileUpdates>

beforeAll(async () => {
  const scratch = parts.use(await openScratch('sluice-synchronous-'))
  const dataDirectory = join(scratch.path, 'postgres')
  const first = await startPostgres({ dataDirectory, port: 0, settings: { fsync: 'off', shared_buffers: '32MB' } })
  primary = { url: first.url, dataDirectory, close: first.stop }
  parts.defer(() => primary.close())
  await migrate(first.url)
  address = await startTcpProxy(() => Number(new URL(primary.url).port))
  parts.defer(address.close)
  clients = connect(first.url.replace(/:\d+\//, `:${address.port}/`), { connections: writers, onError: () => {} })
  parts.defer(clients.close)
  updates = joinedProfileUpdates(clients.db, 100)
  appId = (await createApp(clients.db, { name: 'Shop', email: 'owner@example.com' })).appId
  await registerUsers(
    clients.db,
    appId,
    Array.from({ length: writers }, (_, writer) => `u${writer}`),
  )
  await addStandby()
}, 60_000)
afterAll(() => parts.disposeAsync())

/** Starts a standby of the present primary, which waits for it from now on. */
async function addStandby(): Promise<void> {
  standby = await startStandby(primary.url, primary.dataDirectory)
  await onPrimary(async (db) => {
    await sql`alter system set synchronous_standby_names = '*'`.execute(db)
    await sql`select pg_reload_conf()`.execute(db)
    await until('the synchronous standby', async () => {
      const { rows } = await sql`select from pg_stat_replication where sync_state = 'sync'`.execute(db)
      return rows.length === 1
    })
  })
}

async function onPrimary<Result>(use: (db: Database) => Promise<Result>): Promise<Result> {
  const { db, close } = connect(primary.url, { connections: 1, onError: () => {} })
  return await use(db).finally(close)
}

/** The primary dies, and the standby takes its place. */
async function failOver(): Promise<void> {
  await killPostgres(primary.dataDirectory)
  // The new primary would wait for a standby that it does not have yet.
  await sql`alter system reset synchronous_standby_names`.execute(standby.connection.db).catch(() => {})
  await standby.promote()
  const former = primary
  primary = standby
  address.reset()
  await former.close()
}

/** Updates a value as the API does. */
async function update(writer: number, value: number): Promise<void> {
  await updates(appId, `u${writer}`, [{ key: `n${value % 50}`, type: 'int', value }])
}

describe('with synchronous replication', () => {
  test(`no answered update is lost: ${failovers} deaths of the primary among ${failovers * updatesEach} updates`, {
    timeout: 10 * 60_000,
  }, async () => {
    const random = seeded(47)
    // By user and key, the last value whose update was answered.
    const answered = new Map<string, number>()
    let [sent, answers] = [0, 0]
    for (let failover = 1; failover <= failovers; failover++) {
      const dieAt = answers + random(updatesEach)
      const died = until('the moment of death', () => answers >= dieAt, 60_000).then(failOver)
      const write = async (writer: number) => {
        while (answers < failover * updatesEach) {
          const value = sent++
          const isAnswered = await update(writer, value).then(
            () => true,
            () => false,
          )
          if (!isAnswered) continue
          answers++
          answered.set(`u${writer} n${value % 50}`, value)
        }
      }
      await Promise.all([died, ...Array.from({ length: writers }, (_, writer) => write(writer))])
      expect(await lost(answered), `after death ${failover}`).toEqual([])
      if (failover < failovers) await addStandby()
    }
    console.log(`${answers} of ${sent} updates were answered`)
    expect(answers).toBeGreaterThanOrEqual(failovers * updatesEach)
  })

  test('an answered update is lost if somebody cancels its wait for the standby', async () => {
    await addStandby()
    standby.replication.set({ kind: 'stall' })
    const updated = update(0, 1_000_000)
    await until('the update to wait', () =>
      onPrimary(async (db) => {
        const { rows } = await sql`
          select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'
        `.execute(db)
        return rows.length > 0
      }),
    )
    await updated
    await failOver()
    expect(await lost(new Map([['u0 n0', 1_000_000]]))).toEqual(['u0 n0'])
  })
})

/** Returns the users and keys whose profiles hold an older value than the last answered one. */
async function lost(answered: ReadonlyMap<string, number>): Promise<string[]> {
  const { rows } = await onPrimary((db) =>
    sql<{ user_id: string; attributes: Record<string, number> }>`
      select user_id, hstore_to_json_loose(attributes) as attributes from profiles where app_id = ${appId}
    `.execute(db),
  )
  const stored = new Map(rows.map(({ user_id, attributes }) => [user_id, attributes]))
  return [...answered.keys()].filter((name) => {
    const [user = '', key = ''] = name.split(' ')
    return (stored.get(user)?.[key] ?? -1) < (answered.get(name) ?? 0)
  })
}
