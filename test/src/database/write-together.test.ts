import {
  type CompiledQuery,
  connect,
  copyInto,
  mustFind,
  NothingFound,
  prepared,
  sql,
  writeTogether,
} from '@sluice/database'
import { beforeEach, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { copyUsers, userColumns, userRow } from './user-rows.ts'

// A transaction's writes and its commit are sent in one go: none of them waits for this process.
let database: TestDatabase
/** A pool of one connection, so that the next transaction meets whatever a transaction leaves behind. */
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

test('a transaction ends after 20 s, and a statement that has waited for a lock for 15 s', async () => {
  const limits = await writeTogether(single.db, [], async (tx) => {
    const { rows } = await sql<{ transaction: string; lock: string }>`
      select current_setting('transaction_timeout') as transaction, current_setting('lock_timeout') as lock
    `.execute(tx)
    return { writes: [], result: rows }
  })
  expect(limits).toEqual([{ transaction: '20s', lock: '15s' }])
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
  const renamed = (name: string, to: string) =>
    prepared`update apps set name = ${to} where name = ${name}`.compile(database.db)
  const wrong = sql`select 1 from nowhere`.compile(database.db)
  await expect(write(renamed('one', 'first'), wrong)).rejects.toThrow('nowhere')
  await expect(write(wrong, renamed('one', 'first'))).rejects.toThrow('nowhere')
  for (let round = 0; round < 3; round++) await write(renamed('one', 'first'), renamed('first', 'one'))
  await write(renamed('one', 'first'))
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
  const wrong = sql`select ${Symbol('name')}`.compile(database.db)
  await expect(write(rename('one', 'first'), wrong)).rejects.toThrow('Postgres accepts no parameter such as symbol')
  expect(await write(rename('one', 'first'))).toBe('done')
})

test('a connection that breaks in the middle fails the transaction, and nothing of it is written', async () => {
  const end = sql`select pg_terminate_backend(pg_backend_pid())`.compile(database.db)
  await expect(write(rename('one', 'first'), end)).rejects.toThrow('terminating connection')
  expect(await namesOfApps()).toEqual(['one', 'two'])
  expect(await write(rename('one', 'first'))).toBe('done')
})

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
