import { hash } from 'node:crypto'
import { createApp } from '@sluice/accounts'
import type { ValueType } from '@sluice/contract'
import { sql, writeTogether } from '@sluice/database'
import {
  joinedProfileUpdates,
  KeyLimitExceeded,
  registeredKeys,
  registerKeys,
  registerUsers,
  showUser,
} from '@sluice/profiles'
import { beforeEach, expect, test } from 'vitest'
import { pairKey } from '../../../packages/engine/batches/src/documents/pairs.ts'
import { ProfileBatch } from '../../../packages/engine/batches/src/documents/profile-batch.ts'
import { mergeProfiles } from '../../../packages/engine/batches/src/write/merge.ts'
import { beforeLookup, lookUpUsers } from '../../../packages/engine/batches/src/write/user-lookups.ts'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'

const database = openBeforeAll(() => openTestDatabase(20))
let appId: number
beforeEach(async () => {
  appId = (await createApp(database.db, { name: 'Shop', email: 'ann@example.com' })).appId
})

const register = (keys: Record<string, ValueType>, limit = 500) =>
  database.db.transaction().execute((tx) => registerKeys(tx, appId, new Map(Object.entries(keys)), limit))

// service.md, Profile entry.
test('of many writers that register a key at once with different types, all learn the one type that holds', async () => {
  const types = ['int', 'decimal', 'datetime', 'string'] as const
  const wanted = Array.from({ length: 16 }, (_, i) => types[i % 4] ?? 'int')
  const learned = await Promise.all(wanted.map((type) => register({ k: type })))
  const [key] = (await registeredKeys(database.db, appId)).values()
  expect(new Set(learned.map((keys) => keys.get('k')))).toEqual(new Set([key?.type]))
})

// service.md, Errors; design.md §3, Registering keys.
test('the limit is exact, even for many at once, and a refused registration registers nothing', async () => {
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

const toRecord = (types: ReadonlyMap<string, ValueType>): Record<string, ValueType> => Object.fromEntries(types)

/** Merges rows, each with a user's values by key, in one transaction. Returns which users are registered, in order. */
async function merge(rows: [string, Record<string, string>][], types: Record<string, ValueType>): Promise<boolean[]> {
  const { rows: oids } = await sql<{ hstore: number }>`select 'hstore'::regtype::integer as hstore`.execute(database.db)
  const batch = new ProfileBatch(oids[0]?.hstore ?? 0)
  const users = rows.map(([id, values]) => {
    const user = batch.addRow(Buffer.from(id), 0, id.length)
    batch.addHash(user, hash('sha256', JSON.stringify(values), 'buffer'), 0)
    return user
  })
  const begin = sql`select ${beforeLookup(appId)}`.compile(database.db)
  return await writeTogether(database.db, [begin], async (tx) => {
    const known = { appId, batch, dataOrder: Number.MAX_SAFE_INTEGER }
    const states = await lookUpUsers(tx, known, { assumesNone: false })
    for (const [index, [, values]] of rows.entries()) {
      const user = users[index] ?? 0
      if (states.isDone(user)) continue
      let start = 0
      batch.beginRow(Buffer.from(Object.values(values).join('')), true)
      for (const [key, value] of Object.entries(values)) {
        batch.addValue(pairKey(key), start, start + value.length, types[key] ?? 'string')
        start += value.length
      }
      batch.keepRow(user, index)
    }
    const writes = mergeProfiles(tx, {
      appId,
      batch,
      states,
      toleratesConflicts: false,
      areChangesFound: false,
      hashTaking: undefined,
    })
    return { writes, result: users.map((user) => states.isRegistered(user)) }
  })
}

/** Returns when a user's profile was last written. */
async function written(userId: string): Promise<number | undefined> {
  const row = await database.db
    .selectFrom('profiles')
    .select('updated_at')
    .where('app_id', '=', appId)
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return row.updated_at?.getTime()
}

test('merging writes registered users only, keeps other values, and returns who is registered', async () => {
  await registerUsers(database.db, appId, ['u1', 'u2'])
  const types = await register({ a: 'int', b: 'string' }).then(toRecord)
  const first: [string, Record<string, string>][] = [
    ['u2', { a: '1' }],
    ['ghost', { a: '1' }],
    ['u1', {}],
  ]
  expect(await merge(first, types)).toEqual([true, false, true])
  expect(await merge([['u2', { b: 'y' }]], types)).toEqual([true])
  expect((await showUser(database.db, appId, 'u2'))?.profiles).toEqual({
    a: { type: 'int', value: 1 },
    b: { type: 'string', value: 'y' },
  })
  expect((await showUser(database.db, appId, 'u1'))?.profiles).toEqual({})
  expect(await showUser(database.db, appId, 'ghost')).toBeUndefined()
})

test('of several rows of a user the later values hold, key by key', async () => {
  await registerUsers(database.db, appId, ['u1', 'u2'])
  const types = await register({ a: 'int', b: 'string', c: 'string' }).then(toRecord)
  const rows: [string, Record<string, string>][] = [
    ['u1', { a: '1', b: 'x' }],
    ['u2', { a: '5' }],
    ['u1', { b: 'y' }],
    ['u1', { c: 'z' }],
  ]
  // The second time, no row's hash may suggest that a profile is up to date.
  await merge(rows, types)
  await merge([['u1', { a: '1', b: 'x' }]], types)
  await merge(rows, types)
  expect((await showUser(database.db, appId, 'u1'))?.profiles).toEqual({
    a: { type: 'int', value: 1 },
    b: { type: 'string', value: 'y' },
    c: { type: 'string', value: 'z' },
  })
  expect((await showUser(database.db, appId, 'u2'))?.profiles).toEqual({ a: { type: 'int', value: 5 } })
})

test('a profile that already holds the values is not written again', async () => {
  await registerUsers(database.db, appId, ['u1'])
  const types = await register({ a: 'decimal', b: 'string' }).then(toRecord)
  await merge([['u1', { a: '1.5', b: 'x' }]], types)
  const first = await written('u1')
  await merge([['u1', { a: '1.5', b: 'x' }]], types)
  await merge([['u1', { a: '1.50' }]], types)
  expect(await written('u1')).toBe(first)
  await merge([['u1', { a: '1.6' }]], types)
  expect(await written('u1')).not.toBe(first)
})

test('the same row is merged again after another writer has changed the profile', async () => {
  await registerUsers(database.db, appId, ['u1'])
  const types = await register({ a: 'int' }).then(toRecord)
  const update = joinedProfileUpdates(database.db, 10)
  const row: [string, Record<string, string>][] = [['u1', { a: '1' }]]
  await merge(row, types)
  await update(appId, 'u1', [{ key: 'a', type: 'int', value: 2 }])
  await merge(row, types)
  expect((await showUser(database.db, appId, 'u1'))?.profiles).toEqual({ a: { type: 'int', value: 1 } })
  // An update that has to go alone, because its key is new, does the same.
  await update(appId, 'u1', [
    { key: 'a', type: 'int', value: 2 },
    { key: 'b', type: 'int', value: 3 },
  ])
  await merge(row, types)
  expect((await showUser(database.db, appId, 'u1'))?.profiles).toMatchObject({ a: { value: 1 }, b: { value: 3 } })
})

test('users are registered once, and keep their profile when they are registered again', async () => {
  expect(await registerUsers(database.db, appId, ['u1', 'u2', 'u1'])).toBe(2)
  await register({ a: 'int' })
  await merge([['u1', { a: '1' }]], { a: 'int' })
  expect(await registerUsers(database.db, appId, ['u1', 'u3'])).toBe(1)
  expect((await showUser(database.db, appId, 'u1'))?.profiles).toEqual({ a: { type: 'int', value: 1 } })
})
