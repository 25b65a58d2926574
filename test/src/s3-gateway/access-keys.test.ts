import { randomBytes } from 'node:crypto'
import {
  accessKeyFinder,
  createAccessKey,
  deleteAccessKey,
  listAccessKeys,
  noteUse,
  reencryptSecrets,
  TooManyAccessKeys,
} from '@sluice/access-keys'
import { createApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { beforeEach, expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'

const database = openBeforeAll(openTestDatabase)
let appId: number
const keys = [randomBytes(32)]

beforeEach(async () => {
  appId = (await createApp(database.db, { name: 'Shop', email: 'ann@example.com' })).appId
})

test('a key is found with its app and its secret until it is deleted', async () => {
  const find = accessKeyFinder(database.db, keys)
  const { accessKeyId, secretAccessKey } = await createAccessKey(database.db, keys, appId)
  const other = await createAccessKey(database.db, keys, appId)
  expect(await find(accessKeyId)).toEqual({ appId, secretAccessKey })
  expect(secretAccessKey).toMatch(/^[\w-]{40}$/)
  expect(await deleteAccessKey(database.db, appId, accessKeyId)).toBe(true)
  expect(await find(accessKeyId)).toBeUndefined()
  expect(await find(other.accessKeyId)).toMatchObject({ appId })
  expect(await deleteAccessKey(database.db, appId, accessKeyId)).toBe(false)
})

test('an app cannot list or delete the keys of another app', async () => {
  const { accessKeyId } = await createAccessKey(database.db, keys, appId)
  const { appId: otherApp } = await createApp(database.db, { name: 'Other', email: 'bob@example.com' })
  expect(await deleteAccessKey(database.db, otherApp, accessKeyId)).toBe(false)
  expect(await listAccessKeys(database.db, otherApp)).toEqual([])
  expect(await listAccessKeys(database.db, appId)).toMatchObject([{ accessKeyId }])
})

test('an app has at most 20 keys, even if they are created at the same moment', async () => {
  const { appId: otherApp } = await createApp(database.db, { name: 'Other', email: 'bob@example.com' })
  const outcomes = await Promise.allSettled(Array.from({ length: 25 }, () => createAccessKey(database.db, keys, appId)))
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  expect(refused).toEqual(Array.from({ length: 5 }, () => expect.any(TooManyAccessKeys)))
  const [key, ...others] = await listAccessKeys(database.db, appId)
  expect(others).toHaveLength(19)
  await createAccessKey(database.db, keys, otherApp)
  await deleteAccessKey(database.db, appId, key?.accessKeyId ?? '')
  await createAccessKey(database.db, keys, appId)
})

test('a key cannot be created without an app', async () => {
  await expect(createAccessKey(database.db, keys, 999_999)).rejects.toThrow('there is no app 999999')
})

test.each([
  '',
  'SLC',
  'SLC0K0123456789ABCDEF',
  'SLC99999999999K0123456789ABCDEF',
  "'; drop table access_keys; --",
  '\0',
])('what is no key is not found: %j', async (text) => {
  expect(await accessKeyFinder(database.db, keys)(text)).toBeUndefined()
})

test('the database contains neither the secret nor an encryption key', async () => {
  const { secretAccessKey } = await createAccessKey(database.db, keys, appId)
  const { rows } = await sql<{ text: string }>`select access_keys::text as text from access_keys`.execute(database.db)
  const stored = rows.map(({ text }) => text).join()
  expect(stored).not.toContain(secretAccessKey)
  expect(stored).not.toContain(Buffer.from(secretAccessKey).toString('hex'))
  expect(stored).not.toContain(keys[0]?.toString('hex'))
})

test('a secret does not decrypt in the row of another key', async () => {
  const [first, second] = [
    await createAccessKey(database.db, keys, appId),
    await createAccessKey(database.db, keys, appId),
  ]
  await sql`
    update access_keys set encrypted_secret =
      (select encrypted_secret from access_keys where access_key_id = ${first.accessKeyId})
    where access_key_id = ${second.accessKeyId}
  `.execute(database.db)
  await expect(accessKeyFinder(database.db, keys)(second.accessKeyId)).rejects.toThrow('cannot be decrypted')
})

test('the last use of a key is recorded at most once a minute', async () => {
  const { accessKeyId } = await createAccessKey(database.db, keys, appId)
  const lastUse = async () => (await listAccessKeys(database.db, appId))[0]?.lastUsedAt
  expect(await lastUse()).toBeNull()
  await noteUse(database.db, appId, accessKeyId)
  const first = await lastUse()
  expect(first).toBeInstanceOf(Date)
  await noteUse(database.db, appId, accessKeyId)
  expect(await lastUse()).toEqual(first)
  await sql`update access_keys set last_used_at = now() - interval '61 seconds'`.execute(database.db)
  await noteUse(database.db, appId, accessKeyId)
  expect((await lastUse())?.getTime()).toBeGreaterThanOrEqual(first?.getTime() ?? 0)
})

test('after a rotation every key works with the new encryption key alone', async () => {
  await sql`delete from access_keys`.execute(database.db)
  const before = await createAccessKey(database.db, keys, appId)
  const rotated = [randomBytes(32), ...keys]
  const after = await createAccessKey(database.db, rotated, appId)
  for (const { accessKeyId, secretAccessKey } of [before, after]) {
    expect(await accessKeyFinder(database.db, rotated)(accessKeyId)).toEqual({ appId, secretAccessKey })
  }
  expect(await reencryptSecrets(database.db, rotated)).toBe(1)
  expect(await reencryptSecrets(database.db, rotated)).toBe(0)
  for (const { accessKeyId, secretAccessKey } of [before, after]) {
    expect(await accessKeyFinder(database.db, rotated.slice(0, 1))(accessKeyId)).toEqual({ appId, secretAccessKey })
  }
})
