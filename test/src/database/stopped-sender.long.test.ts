import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { connect, endStaleCopies, sql, writeTogether } from '@sluice/database'
import pg from 'pg'
import { from } from 'pg-copy-streams'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'
import { copyUsers } from './user-rows.ts'

// Postgres does not count a transaction as idle if its writes have only half arrived.
const database = openBeforeEach(openTestDatabase)
beforeEach(async () => {
  await database.db
    .insertInto('apps')
    .values([{ name: 'one' }, { name: 'two' }])
    .execute()
})

const rename = () => sql`update apps set name = 'first' where name = 'one'`.compile(database.db)
const named = (name: string) => database.db.selectFrom('apps').select('name').where('name', '=', name).execute()

test.each([
  ['a parameter', () => sql`select length(${Buffer.alloc(5_000_000)}::bytea)`.compile(database.db)],
  ['rows', () => copyUsers(...Array.from({ length: 100_000 }, (_, index) => `user ${index}`.padEnd(40)))],
])('if a sender stops after half of its writes, in %s, its locks end with its transaction', async (_, large) => {
  const proxy = await startTcpProxy(() => Number(new URL(database.url).port))
  const far = connect(throughProxy(database.url, proxy), { connections: 1, queryTimeoutMs: 2_000 })
  const operator = new pg.Client({ connectionString: database.url })
  operator.on('error', () => {}) // the database goes before it where the test fails
  await operator.connect()
  onTestFinished(async () => {
    await far.close()
    await proxy.close()
  })
  const loading = operator.query(from('copy users (app_id, user_id) from stdin'))
  const writing = writeTogether(far.db, [], async () => {
    proxy.set({ kind: 'slow', bytesPerSecond: 100_000 })
    return { writes: [rename(), large()], result: undefined }
  })
  const given = writing.catch((error: Error) => error)
  const isFree = async () => {
    const found = await database.db.selectFrom('apps').select('app_id').forUpdate().skipLocked().execute()
    return found.length === 2
  }
  await until('the first of the writes', async () => !(await isFree()))
  proxy.set({ kind: 'stall' })
  const isOver = async () => {
    await endStaleCopies(database.db, 3_600_000)
    return await isFree()
  }
  await until('the end of the transaction, 20 s after its beginning', isOver, 60_000)
  expect(await given).toBeInstanceOf(Error)
  expect(await named('first')).toEqual([])
  // What somebody else loads by hand may pause for as long as it likes.
  await pipeline(Readable.from(['1\tlate\n']), loading)
  const users = await database.db.selectFrom('users').select('user_id').execute()
  expect(users).toEqual([{ user_id: 'late' }])
  await operator.end()
})
