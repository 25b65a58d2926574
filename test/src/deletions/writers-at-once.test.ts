import { sql } from '@sluice/database'
import { joinedProfileUpdates, registerUsers, UnregisteredUser } from '@sluice/profiles'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { importFile, openApp, profilesOf } from '../imports/import-fixture.ts'
import { type DeletionFixture, openDeletionFixture, request, runAt, schedule } from './deletion-fixture.ts'

// A writer of a user's first profile checks that the user is registered before it writes. A deletion must not complete
// between the check and the write.
const { accepted, completion } = schedule
const users = ['a', 'b']

let fixture: DeletionFixture
let appId: number
let other: pg.Client
beforeEach(async () => {
  fixture = await openDeletionFixture()
  appId = await openApp(fixture, users)
  // The key is registered, so that no writer waits for its registration.
  await importFile(fixture, appId, `user_id,n\na,1\n`)
  await sql`delete from profiles`.execute(fixture.database.db)
  other = new pg.Client({ connectionString: fixture.database.url })
  await other.connect()
  await other.query('begin')
  return async () => {
    await other.end()
    await fixture.close()
  }
})

/** Inserts the user's first profile without committing, so that every other writer of this profile waits. */
const holdUpFirstProfileOf = (user: string, holder = other) =>
  holder.query(`insert into profiles (app_id, user_id, attributes, updated_at) values ($1, $2, '', now())`, [
    appId,
    user,
  ])

const waiting = async (kind: 'advisory' | 'transactionid') => (await lockWaits(fixture.database.db, kind)).length

async function profilesLeft(): Promise<number> {
  const { rows } = await sql`select from profiles where app_id = ${appId}`.execute(fixture.database.db)
  return rows.length
}

test('a deletion waits for a batch that has looked up its users, and deletes the profiles that the batch inserted', async () => {
  await request(fixture, appId, users, accepted)
  await holdUpFirstProfileOf('a')
  const importing = importFile(fixture, appId, 'user_id,n\na,1\nb,2\n')
  await until('the batch to wait', async () => (await waiting('transactionid')) === 1)
  const deleting = runAt(fixture, completion)
  await until('the deletion to wait for the batch', async () => (await waiting('advisory')) === 1)
  await other.query('rollback')
  expect((await importing).view).toMatchObject({ state: 'completed', rows_applied: 2 })
  await deleting
  expect(await profilesOf(fixture, appId)).toEqual({})
  expect(await profilesLeft()).toBe(0)
})

test('a batch that finds a first profile inserted by another writer is written again, over that profile', async () => {
  await holdUpFirstProfileOf('a')
  const importing = importFile(fixture, appId, 'user_id,n\na,1\nb,2\n')
  await until('the batch to wait', async () => (await waiting('transactionid')) === 1)
  await other.query('commit')
  expect((await importing).view).toMatchObject({ state: 'completed', rows_applied: 2, rows_failed: 0 })
  expect(await profilesOf(fixture, appId)).toEqual({ a: { n: 1 }, b: { n: 2 } })
})

test('a batch completes even if other writers insert first profiles of its users one by one', async () => {
  const many = Array.from({ length: 15 }, (_, index) => `user-${index}`)
  await registerUsers(fixture.database.db, appId, many)
  const writers = many.map(() => new pg.Client({ connectionString: fixture.database.url }))
  try {
    for (const [index, writer] of writers.entries()) {
      await writer.connect()
      await writer.query('begin')
      await holdUpFirstProfileOf(many[index] ?? '', writer)
    }
    const importing = importFile(fixture, appId, `user_id,n\n${many.map((user) => `${user},1\n`).join('')}`)
    for (const writer of writers) {
      await until('the batch to wait', async () => (await waiting('transactionid')) === 1)
      await writer.query('commit')
    }
    expect((await importing).view).toMatchObject({ state: 'completed', rows_applied: 15, rows_failed: 0 })
    expect(await profilesOf(fixture, appId)).toMatchObject(Object.fromEntries(many.map((user) => [user, { n: 1 }])))
  } finally {
    await Promise.all(writers.map((writer) => writer.end()))
  }
})

test('a deletion waits for a profile update of its user, and deletes the profile that the update inserted', async () => {
  await request(fixture, appId, users, accepted)
  await holdUpFirstProfileOf('a')
  const update = joinedProfileUpdates(fixture.database.db, 500)
  const updating = update(appId, 'a', [{ key: 'n', type: 'int', value: 1 }])
  await until('the update to wait', async () => (await waiting('transactionid')) === 1)
  const deleting = runAt(fixture, completion)
  await until('the deletion to wait for the update', async () => (await waiting('transactionid')) === 2)
  await other.query('rollback')
  await Promise.all([updating, deleting])
  expect(await profilesOf(fixture, appId)).toEqual({})
  expect(await profilesLeft()).toBe(0)
  await expect(update(appId, 'a', [{ key: 'n', type: 'int', value: 2 }])).rejects.toThrow(UnregisteredUser)
})

test('a registration waits for a deletion of its user, and registers the user again without values', async () => {
  await importFile(fixture, appId, 'user_id,n\na,1\n')
  await request(fixture, appId, users, accepted)
  await other.query('select from profiles for update')
  const deleting = runAt(fixture, completion)
  await until('the deletion to wait for the profile', async () => (await waiting('transactionid')) === 1)
  const registering = registerUsers(fixture.database.db, appId, ['b', 'a', 'c'])
  await until('the registration to wait for the deletion', async () => (await waiting('transactionid')) === 2)
  await other.query('rollback')
  await deleting
  expect(await registering).toBe(3)
  expect(await profilesOf(fixture, appId)).toEqual({ a: {}, b: {}, c: {} })
  expect(await profilesLeft()).toBe(0)
})
