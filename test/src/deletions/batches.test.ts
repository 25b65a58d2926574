import { sql } from '@sluice/database'
import { listDeletions } from '@sluice/deletions'
import { expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { importFile, openApp, profilesOf } from '../imports/import-fixture.ts'
import {
  mailEvents,
  newestRequest,
  openDeletionFixture,
  request,
  runAt,
  runCutShort,
  schedule,
} from './deletion-fixture.ts'

// Users are deleted in transactions of DELETION_BATCH_USERS, which is small here.
const { accepted, completion, mail } = schedule

const fixture = openBeforeEach(() => openDeletionFixture({ DELETION_BATCH_USERS: '20' }))

const users = Array.from({ length: 60 }, (_, index) => `user-${index}`)

// service.md, Events; design.md §3, Deletion mail.
test('many users are deleted in batches; the next run continues an interrupted one, and only the end is mailed', async () => {
  const appId = await openApp(fixture, [...users, 'other'])
  await request(fixture, appId, users, accepted)
  await runCutShort(fixture, completion, 1)
  const left = Object.keys(await profilesOf(fixture, appId)).length
  expect(left).toBeGreaterThan(1)
  expect(left).toBeLessThan(users.length)
  expect(await newestRequest(fixture, appId)).toMatchObject({
    state: 'started',
    users_deleted: users.length + 1 - left,
  })
  expect(await mailEvents(fixture, appId)).toEqual([])

  await runAt(fixture, completion)
  expect(await profilesOf(fixture, appId)).toEqual({ other: {} })
  expect(await newestRequest(fixture, appId)).toMatchObject({ state: 'completed', users_deleted: users.length })
  expect(await mailEvents(fixture, appId)).toEqual([mail])
})

test('a batch that fails is rolled back as a whole', async () => {
  const appId = await openApp(fixture, users)
  await request(fixture, appId, users, accepted)
  await sql`
      create function refuse() returns trigger language plpgsql as
        $$ begin if (select count(*) from deleted_users) > 30 then raise 'no room'; end if; return null; end $$
    `.execute(fixture.database.db)
  await sql`create trigger refuse after insert on deleted_users for each statement execute function refuse()`.execute(
    fixture.database.db,
  )
  await expect(runAt(fixture, completion)).rejects.toThrow('not complete')
  const counted = await sql<{ users: number; named: number; proofs: number }>`
      select (select count(*) from users) as users, (select count(*) from deletion_request_users) as named,
        (select count(*) from deleted_users) as proofs
    `.execute(fixture.database.db)
  expect(counted.rows).toEqual([{ users: 40, named: 40, proofs: 20 }])
  await sql`drop trigger refuse on deleted_users`.execute(fixture.database.db)
  await runAt(fixture, completion)
  expect(await newestRequest(fixture, appId)).toMatchObject({ state: 'completed', users_deleted: users.length })
})

test('several maintenance runs at once delete each user once, and send one mail', async () => {
  const appId = await openApp(fixture, users)
  await request(fixture, appId, users.slice(0, 40), accepted)
  await request(fixture, appId, users.slice(20), accepted)
  const runs = await Promise.all(Array.from({ length: 4 }, () => runAt(fixture, completion)))
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)
  expect(sum(runs.map(({ usersDeleted }) => usersDeleted))).toBe(users.length)
  expect(sum(runs.map(({ started }) => started))).toBe(2)
  expect(sum(runs.map(({ mails }) => mails.length))).toBe(1)
  expect(await profilesOf(fixture, appId)).toEqual({})
  const listed = await listDeletions(fixture.database.db, appId, 10)
  expect(sum(listed.map(({ users_deleted }) => users_deleted))).toBe(users.length)
})

test('a user whom two due requests name in one batch counts once, and is proved for both', async () => {
  const appId = await openApp(fixture, ['a', 'b'])
  await request(fixture, appId, ['a', 'b'], accepted)
  await request(fixture, appId, ['b', 'unknown'], accepted)
  expect(await runAt(fixture, completion)).toMatchObject({ completed: 2, usersDeleted: 2 })
  const counted = await fixture.database.db
    .selectFrom('deletion_requests')
    .select(({ fn }) => [fn.sum('users_processed').as('processed'), fn.sum('users_deleted').as('deleted')])
    .executeTakeFirst()
  expect(counted).toEqual({ processed: 3, deleted: 2 })
  const proofs = await fixture.database.db.selectFrom('deleted_users').select('user_hash').execute()
  expect(proofs).toHaveLength(4)
  const { subject } = await fixture.database.db.selectFrom('mails').select('subject').executeTakeFirstOrThrow()
  expect(subject).toBe('User deletion completed: 2 users deleted')
})

test('a request that is accepted for the same date during a completion delays the mail until it is completed too', async () => {
  const appId = await openApp(fixture, ['a', 'b'])
  await importFile(fixture, appId, 'user_id,age\na,1\n')
  await request(fixture, appId, ['a'], accepted)
  const storage = {
    ...fixture.storage,
    async removeAll(prefix: string) {
      await request(fixture, appId, ['b'], accepted)
      await fixture.storage.removeAll(prefix)
    },
  }
  expect(await runAt(fixture, completion, { storage })).toMatchObject({ completed: 1, mails: [] })
  expect(await profilesOf(fixture, appId)).toEqual({ b: {} })
  expect(await runAt(fixture, completion)).toMatchObject({ completed: 1, usersDeleted: 1, mails: [{ appId }] })
})
