import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type CompiledQuery,
  connect,
  copyInto,
  endStaleCopies,
  mustFind,
  NothingFound,
  sql,
  writeTogether,
} from '@sluice/database'
import pg from 'pg'
import { from } from 'pg-copy-streams'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'

// A transaction's writes and its commit are sent in one go: none of them waits for this process.
let database: TestDatabase
/** One connection, so that whatever a transaction leaves behind meets the next one. */
let single: ReturnType<typeof connect>

beforeEach(async () => {
  database = await openTestDatabase()
  single = connect(database.url, { connections: 1 })
  await database.db
    .insertInto('apps')
    .values([{ name: 'one' }, { name: 'two' }])
    .execute()
  return async () => {
    await single.close()
    await database.close()
  }
})

const rename = (name: string, to: string): CompiledQuery =>
  sql`update apps set name = ${to} where name = ${name}`.compile(database.db)

const namesOfApps = async (): Promise<string[]> => {
  const apps = await database.db.selectFrom('apps').select('name').orderBy('app_id').execute()
  return apps.map(({ name }) => name)
}

/** Runs a transaction of these writes. */
const write = (...writes: CompiledQuery[]) => writeTogether(single.db, [], async () => ({ writes, result: 'done' }))

test('commits the writes and returns the result', async () => {
  expect(await write(rename('one', 'first'), rename('two', 'second'))).toBe('done')
  expect(await namesOfApps()).toEqual(['first', 'second'])
})

test('the function that prepares the writes runs in the transaction, after the first statements', async () => {
  const begin = [sql`set local lock_timeout = '7s'`.compile(database.db)]
  const seen = await writeTogether(single.db, begin, async (tx) => {
    const { rows } = await sql<{ lock_timeout: string }>`show lock_timeout`.execute(tx)
    return { writes: [], result: rows[0]?.lock_timeout }
  })
  expect(seen).toBe('7s')
  const { rows } = await sql<{ lock_timeout: string }>`show lock_timeout`.execute(single.db)
  expect(rows[0]?.lock_timeout).toBe('0')
})

test('if one statement fails, its error is thrown, and no other statement takes effect', async () => {
  const wrong = sql`select no_such_column from apps`.compile(database.db)
  await expect(write(rename('one', 'first'), wrong, rename('two', 'second'))).rejects.toThrow('no_such_column')
  expect(await namesOfApps()).toEqual(['one', 'two'])
})

test('if preparing the writes fails, nothing is written, and its error is thrown', async () => {
  const writing = writeTogether(single.db, [rename('one', 'first')], async () => {
    throw new Error('seen enough')
  })
  await expect(writing).rejects.toThrow('seen enough')
  expect(await namesOfApps()).toEqual(['one', 'two'])
})

test('a statement that must find a row, and finds none, ends the transaction', async () => {
  const named = (name: string) => database.db.selectFrom('apps').select('name').where('name', '=', name).compile()
  await expect(write(rename('two', 'second'), mustFind(named('three')))).rejects.toThrow(NothingFound)
  expect(await namesOfApps()).toEqual(['one', 'two'])

  const update = (name: string) =>
    mustFind(sql`update apps set name = 'changed' where name = ${name} returning name`.compile(database.db))
  await expect(write(rename('two', 'second'), update('three'))).rejects.toThrow(NothingFound)
  expect(await namesOfApps()).toEqual(['one', 'two'])
  await write(mustFind(named('two')), update('one'))
  expect(await namesOfApps()).toEqual(['changed', 'two'])
})

test('a connection serves the next transaction after each of these errors', async () => {
  const wrong = sql`select 1 from nowhere`.compile(database.db)
  for (let round = 0; round < 3; round++) {
    await expect(write(wrong)).rejects.toThrow('nowhere')
    const { rows } = await sql<{ id: string | null }>`select pg_current_xact_id_if_assigned() as id`.execute(single.db)
    expect(rows).toEqual([{ id: null }])
    await write(rename('one', 'first'), rename('first', 'one'))
  }
  expect(await namesOfApps()).toEqual(['one', 'two'])
})

test('a prepared statement can be repeated, even if the transaction that prepared it failed', async () => {
  const prepared = (name: string, to: string) =>
    sql`/* prepared */ update apps set name = ${to} where name = ${name}`.compile(database.db)
  const wrong = sql`select 1 from nowhere`.compile(database.db)
  await expect(write(prepared('one', 'first'), wrong)).rejects.toThrow('nowhere')
  await expect(write(wrong, prepared('one', 'first'))).rejects.toThrow('nowhere')
  for (let round = 0; round < 3; round++) await write(prepared('one', 'first'), prepared('first', 'one'))
  await write(prepared('one', 'first'))
  expect(await namesOfApps()).toEqual(['first', 'two'])
})

test('parameters of any size arrive unchanged, also empty ones and megabytes', async () => {
  const large = Buffer.alloc(3_000_000, 'x')
  const check = sql`
    select 1 / (length(${large}::bytea) - 2999999), 1 / (${'ä'} = 'ä')::integer, 1 / (${7}::integer - 6),
      1 / (${true}::boolean)::integer, 1 / (${null}::text is null)::integer`
  await write(check.compile(database.db), rename('one', 'first'))
  expect(await namesOfApps()).toEqual(['first', 'two'])
})

test('a parameter that cannot be sent is refused before anything is sent, and the connection stays usable', async () => {
  const wrong = sql`select ${new Date()}`.compile(database.db)
  await expect(write(rename('one', 'first'), wrong)).rejects.toThrow('a pipeline accepts no parameter such as object')
  expect(await write(rename('one', 'first'))).toBe('done')
})

test('a connection that breaks in the middle fails the transaction, and nothing of it is written', async () => {
  const end = sql`select pg_terminate_backend(pg_backend_pid())`.compile(database.db)
  await expect(write(rename('one', 'first'), end)).rejects.toThrow('terminating connection')
  expect(await namesOfApps()).toEqual(['one', 'two'])
  expect(await write(rename('one', 'first'))).toBe('done')
})

/** A row for `copyInto` of `userColumns`. */
const userColumns = ['app_id', 'user_id'] as const
function userRow(userId: string): Buffer {
  const id = Buffer.from(userId)
  const row = Buffer.from([0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0])
  row.writeInt32BE(id.length, row.length - 4)
  return Buffer.concat([row, id])
}

const copyUsers = (...userIds: string[]) => copyInto('users', userColumns, Buffer.concat(userIds.map(userRow)))

const registered = async (): Promise<string[]> => {
  const rows = await database.db.selectFrom('users').select('user_id').orderBy('user_id').execute()
  return rows.map(({ user_id }) => user_id)
}

test('rows are copied between the other writes, as many as there are', async () => {
  await write(rename('one', 'first'), copyUsers('a', 'b'), rename('two', 'second'), copyUsers('c'), copyUsers())
  expect(await registered()).toEqual(['a', 'b', 'c'])
  expect(await namesOfApps()).toEqual(['first', 'second'])
})

test('if a copy or a statement beside it fails, nothing is written, and the connection stays usable', async () => {
  await write(copyUsers('a'))
  const wrong = sql`select 1 from nowhere`.compile(database.db)
  const many = Array.from({ length: 50_000 }, (_, index) => `user ${index}`)
  await expect(write(rename('one', 'first'), copyUsers(...many, 'a'), copyUsers('c'))).rejects.toThrow('duplicate key')
  await expect(write(wrong, copyUsers(...many))).rejects.toThrow('nowhere')
  await expect(write(copyUsers(...many), wrong)).rejects.toThrow('nowhere')
  const cut = copyInto('users', userColumns, userRow('b').subarray(0, -1))
  await expect(write(cut, rename('one', 'first'))).rejects.toThrow()
  expect(await registered()).toEqual(['a'])
  expect(await namesOfApps()).toEqual(['one', 'two'])
  await write(copyUsers('b'))
  expect(await registered()).toEqual(['a', 'b'])
})

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
    return { writes: [rename('one', 'first'), large()], result: undefined }
  })
  const given = writing.catch((error: Error) => error)
  const isFree = async () => {
    const found = await database.db.selectFrom('apps').select('app_id').forUpdate().skipLocked().execute()
    return found.length === 2
  }
  await until('the first of the writes', async () => !(await isFree()))
  proxy.set({ kind: 'stall' })
  const isOver = async () => {
    await endStaleCopies(database.db)
    return await isFree()
  }
  await until('the end of the transaction, 20 s after its beginning', isOver, 60_000)
  expect(await given).toBeInstanceOf(Error)
  expect(await namesOfApps()).toEqual(['one', 'two'])
  // What somebody else loads by hand may pause for as long as it likes.
  await pipeline(Readable.from(['1\tlate\n']), loading)
  expect(await registered()).toEqual(['late'])
  await operator.end()
})
