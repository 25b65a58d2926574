import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, type Database, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { openScratch } from '../environment/scratch.ts'
import { until } from '../environment/wait.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'

const database = openBeforeEach(openTestDatabase)

/** Opens a pool that is closed at the end of the test. */
function open(url: string, connections = 2): Database {
  const { db, close } = connect(url, { connections })
  onTestFinished(close)
  return db
}

const answers = (db: Database) =>
  sql`select 1`.execute(db).then(
    () => true,
    () => false,
  )

// second-day.md §7, Postgres.
test('a new connection reads the password from its file: it can change while the process runs', async () => {
  await using scratch = await openScratch('sluice-password-')
  const file = join(scratch.path, 'password')
  const role = `role_${crypto.randomUUID().replaceAll('-', '')}`
  await sql.raw(`create role ${role} login password 'first'`).execute(database.db)
  await writeFile(file, 'first\n')
  const url = new URL(database.url)
  url.username = role
  url.password = ''
  url.searchParams.set('password_file', file)
  const db = open(url.href)
  expect(await answers(db)).toBe(true)

  await sql.raw(`alter role ${role} password 'second'`).execute(database.db)
  expect(await answers(db)).toBe(true) // by its open connection
  const end = sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`
  await end.execute(database.db)
  await until('the old password to be refused', async () => !(await answers(db)))
  await writeFile(file, 'second\n')
  await until('a connection with the new password', () => answers(db))
})

test.each(['read-write', 'any'])(
  'of several hosts, the first one that answers is used, and another one after it has failed: %s',
  async (target) => {
    const port = Number(new URL(database.url).port)
    const proxies = await Promise.all([startTcpProxy(() => port), startTcpProxy(() => port)])
    onTestFinished(async () => {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    })
    const [first, second] = proxies
    const hosts = `127.0.0.1:${first?.port},127.0.0.1:${second?.port}`
    const url = new URL(database.url)
    url.searchParams.set('target_session_attrs', target)
    const db = open(url.href.replace(/127\.0\.0\.1:\d+|localhost:\d+/, hosts))
    expect(await answers(db)).toBe(true)
    first?.set({ kind: 'refuse' })
    await until('the second host', () => answers(db))
    first?.set({ kind: 'fine' })
    second?.set({ kind: 'refuse' })
    await until('the first host again', () => answers(db))
  },
)

test('if no host accepts writes, the error names the hosts and their reasons', async () => {
  const { port } = new URL(database.url)
  await sql
    .raw(`alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = on`)
    .execute(database.db)
  const db = open(database.url.replace(/127\.0\.0\.1:\d+|localhost:\d+/, `127.0.0.1:1,127.0.0.1:${port}`))
  await expect(sql`select 1`.execute(db)).rejects.toThrow(
    `no host of Postgres accepts writes: connect ECONNREFUSED 127.0.0.1:1; 127.0.0.1:${port} is read-only`,
  )
})

// second-day.md §7, Postgres.
test('a connection to a server that is read-only now is dropped, and writes continue on a new one', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const readOnly = (state: 'on' | 'off') =>
    sql.raw(`alter database ${name} set default_transaction_read_only = ${state}`).execute(database.db)
  const admin = open(database.url, 1)
  await answers(admin)
  await readOnly('on')
  const db = open(database.url, 1)
  const write = () => db.insertInto('apps').values({ name: 'written' }).execute()
  await expect(write()).rejects.toMatchObject({ code: '25006' })
  const inTransaction = db.transaction().execute((tx) => tx.insertInto('apps').values({ name: 'lost' }).execute())
  await expect(inTransaction).rejects.toMatchObject({ code: '25006' })
  await sql.raw(`alter database ${name} set default_transaction_read_only = off`).execute(admin)
  // A session keeps its default. Only a new connection can write.
  await write()
  await expect(
    db.transaction().execute(async (tx) => await tx.selectFrom('apps').select('name').execute()),
  ).resolves.toEqual([{ name: 'written' }])
})
