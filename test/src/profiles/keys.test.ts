import { createApp } from '@sluice/accounts'
import type { ValueType } from '@sluice/contract'
import {
  KeyLimitExceeded,
  mergeProfiles,
  registeredKeys,
  registerKeys,
  registerUsers,
  showUser,
} from '@sluice/profiles'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'

let database: TestDatabase
let appId: number
beforeAll(async () => {
  database = await openTestDatabase(20)
  return () => database.close()
})
beforeEach(async () => {
  appId = (await createApp(database.db, { name: 'Shop', email: 'ann@example.com' })).appId
})

const register = (keys: Record<string, ValueType>, limit = 500) =>
  database.db.transaction().execute((tx) => registerKeys(tx, appId, new Map(Object.entries(keys)), limit))

test('of many that register a key at once with different types all learn the one type that holds', async () => {
  const types = ['int', 'decimal', 'datetime', 'string'] as const
  const wanted = Array.from({ length: 16 }, (_, i) => types[i % 4] ?? 'int')
  const learned = await Promise.all(wanted.map((type) => register({ k: type })))
  const [type] = (await registeredKeys(database.db, appId)).values()
  expect(new Set(learned.map((keys) => keys.get('k')))).toEqual(new Set([type]))
})

test('the limit is exact, also for many at once, and what exceeds it registers nothing', async () => {
  const tries = Array.from({ length: 12 }, (_, i) => register({ [`a${i}`]: 'int', [`b${i}`]: 'int' }, 10))
  const outcomes = await Promise.allSettled(tries)
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  expect(refused.every((error) => error instanceof KeyLimitExceeded)).toBe(true)
  expect(await registeredKeys(database.db, appId)).toHaveProperty('size', 10)
})

test('an app with all its keys can still use them', async () => {
  await register({ a: 'int', b: 'int' }, 2)
  expect(await register({ b: 'string' }, 2)).toEqual(new Map([['b', 'int']]))
})

test('merging writes registered users only, keeps other values, and tells who is registered', async () => {
  await registerUsers(database.db, appId, ['u1', 'u2'])
  await register({ a: 'int', b: 'string' })
  const merge = (updates: [string, string | null][]) =>
    database.db.transaction().execute((tx) =>
      mergeProfiles(
        tx,
        appId,
        updates.map(([id, document]) => ({ userId: Buffer.from(id), document })),
      ),
    )
  expect(
    await merge([
      ['u2', '{"a":1}'],
      ['ghost', '{"a":1}'],
      ['u1', null],
    ]),
  ).toEqual([true, false, true])
  expect(await merge([['u2', '{"b":"x","a":2,"b":"y"}']])).toEqual([true])
  expect((await showUser(database.db, appId, 'u2'))?.profiles).toEqual({
    a: { type: 'int', value: 2 },
    b: { type: 'string', value: 'y' },
  })
  expect((await showUser(database.db, appId, 'u1'))?.profiles).toEqual({})
  expect(await showUser(database.db, appId, 'ghost')).toBeUndefined()
})

test('a profile that already holds the values is not written again', async () => {
  await registerUsers(database.db, appId, ['u1'])
  await register({ a: 'decimal' })
  const version = async () => {
    const row = await database.db
      .selectFrom('users')
      .select('updated_at')
      .where('app_id', '=', appId)
      .executeTakeFirstOrThrow()
    return row.updated_at?.getTime()
  }
  const merge = (document: string) =>
    database.db.transaction().execute((tx) => mergeProfiles(tx, appId, [{ userId: Buffer.from('u1'), document }]))
  await merge('{"a":1.5}')
  const first = await version()
  await merge('{"a":1.50}')
  expect(await version()).toBe(first)
  await merge('{"a":1.6}')
  expect(await version()).not.toBe(first)
})

test('users are registered once, and keep their profile when they are registered again', async () => {
  expect(await registerUsers(database.db, appId, ['u1', 'u2', 'u1'])).toBe(2)
  await register({ a: 'int' })
  await database.db
    .transaction()
    .execute((tx) => mergeProfiles(tx, appId, [{ userId: Buffer.from('u1'), document: '{"a":1}' }]))
  expect(await registerUsers(database.db, appId, ['u1', 'u3'])).toBe(1)
  expect((await showUser(database.db, appId, 'u1'))?.profiles).toEqual({ a: { type: 'int', value: 1 } })
})
