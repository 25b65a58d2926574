import { createHash } from 'node:crypto'
import { listDeletions, showUserDeletion } from '@sluice/deletions'
import { joinedProfileUpdates, registerUsers, showUser } from '@sluice/profiles'
import { describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { openApp, profilesOf } from '../imports/import-fixture.ts'
import {
  mailEvents,
  newestRequest,
  openDeletionFixture,
  request,
  runAt,
  schedule,
  targetsOf,
} from './deletion-fixture.ts'

const { accepted, beforeStart, start, beforeCompletion, completion, mail } = schedule

const fixture = openBeforeEach(openDeletionFixture)

// design.md §3, Deletion dates.
describe('the life of a deletion', () => {
  test('a request is accepted, started and completed at its exact instants; until then the user stays and can be updated', async () => {
    const appId = await openApp(fixture, ['alice', 'bob'])
    await request(fixture, appId, ['alice', 'alice', 'nobody'], accepted)
    const name = (value: string) => [{ key: 'name', type: 'string' as const, value }]

    await runAt(fixture, beforeStart)
    expect(await newestRequest(fixture, appId)).toMatchObject({
      state: 'accepted',
      users_requested: 2,
      started_at: null,
    })
    expect(await targetsOf(fixture, appId)).toEqual(['alice', 'bob'])

    expect(await runAt(fixture, start)).toMatchObject({ started: 1, completed: 0 })
    expect(await newestRequest(fixture, appId)).toMatchObject({ state: 'started', token_last_four: 'last' })
    expect(await targetsOf(fixture, appId)).toEqual(['bob'])
    expect(await showUser(fixture.database.db, appId, 'alice')).toMatchObject({ campaign_target: false })
    expect(await showUserDeletion(fixture.database.db, appId, 'alice')).toEqual({
      state: 'started',
      accepted_at: '2100-03-01T12:00:00.000Z',
      starts_at: '2100-03-07T12:00:00.000Z',
      completes_at: '2100-04-07T00:00:00.000Z',
    })
    await joinedProfileUpdates(fixture.database.db, 500)(appId, 'alice', name('Alice'))

    await runAt(fixture, beforeCompletion)
    expect(await profilesOf(fixture, appId)).toEqual({ alice: { name: 'Alice' }, bob: {} })
    expect(await mailEvents(fixture, appId)).toEqual([])

    expect(await runAt(fixture, completion)).toMatchObject({ completed: 1, usersDeleted: 1, mails: [{ appId }] })
    expect(await profilesOf(fixture, appId)).toEqual({ bob: {} })
    expect(await showUserDeletion(fixture.database.db, appId, 'alice')).toBeNull()
    expect(await newestRequest(fixture, appId)).toMatchObject({
      state: 'completed',
      started_at: '2100-03-07T12:00:00.000Z',
      completed_at: '2100-04-07T00:00:00.000Z',
      users_deleted: 1,
      values_deleted: 1,
    })
    expect(await mailEvents(fixture, appId)).toEqual([mail])
    await expect(joinedProfileUpdates(fixture.database.db, 500)(appId, 'alice', name('x'))).rejects.toThrow()
  })

  // service.md, States and transitions; design.md §3, Deletion dates.
  test('a user is no campaign target from the start on, by the clock of the database, even if maintenance is late', async () => {
    const appId = await openApp(fixture, ['alice', 'bob'])
    const day = 24 * 60 * 60_000
    await request(fixture, appId, ['alice'], new Date(Date.now() - 6 * day - 1000).toISOString())
    await request(fixture, appId, ['bob'], new Date(Date.now() - 6 * day + 60_000).toISOString())
    expect(await targetsOf(fixture, appId)).toEqual(['bob'])
    expect(await showUserDeletion(fixture.database.db, appId, 'alice')).toMatchObject({ state: 'started' })
  })

  // design.md §3, Deleting; design.md §3, Deletion: unknown user IDs.
  test('a user who registers between acceptance and completion is deleted too; one who registers afterwards stays', async () => {
    const appId = await openApp(fixture)
    await request(fixture, appId, ['late'], accepted)
    await registerUsers(fixture.database.db, appId, ['late'])
    await runAt(fixture, completion)
    expect(await profilesOf(fixture, appId)).toEqual({})
    await registerUsers(fixture.database.db, appId, ['late'])
    await runAt(fixture, '2101-01-01T00:00:00Z')
    expect(await profilesOf(fixture, appId)).toEqual({ late: {} })
    expect(await targetsOf(fixture, appId)).toEqual(['late'])
  })

  test('another app’s user of the same ID stays', async () => {
    const [mine, other] = [await openApp(fixture, ['alice']), await openApp(fixture, ['alice'])]
    await request(fixture, mine, ['alice'], accepted)
    await runAt(fixture, completion)
    expect(await profilesOf(fixture, other)).toEqual({ alice: {} })
    expect(await mailEvents(fixture, other)).toEqual([])
  })

  // service.md, States and transitions.
  test('one run catches up on months of down time, with one mail for each date', async () => {
    const appId = await openApp(fixture, ['a', 'b', 'c'])
    await request(fixture, appId, ['a'], accepted)
    await request(fixture, appId, ['b'], '2100-03-02T00:00:00Z')
    await request(fixture, appId, ['c'], '2100-04-10T00:00:00Z')
    expect(await runAt(fixture, '2100-12-24T00:00:00Z')).toMatchObject({ started: 3, completed: 3, usersDeleted: 3 })
    expect(await mailEvents(fixture, appId)).toEqual([mail, 'deletion:2100-05-07T00:00:00.000Z'])
  })

  test('dates are in the service’s time zone', async () => {
    const tokyo = await openDeletionFixture({ SERVICE_TIMEZONE: 'Asia/Tokyo' })
    const appId = await openApp(tokyo, ['a'])
    await request(tokyo, appId, ['a'], '2100-04-24T15:00:00Z')
    const [listed] = await listDeletions(tokyo.database.db, appId, 10)
    expect(listed).toMatchObject({ completes_at: '2100-06-06T15:00:00.000Z' })
    await runAt(tokyo, '2100-06-06T15:00:00Z')
    const { text } = await tokyo.database.db.selectFrom('mails').select('text').executeTakeFirstOrThrow()
    expect(text).toContain('2100-06-07')
    await tokyo.close()
  })
})

describe('a user in several requests', () => {
  test('is deleted once, at the earliest dates, in whatever order the requests arrived', async () => {
    const appId = await openApp(fixture, ['a', 'b'])
    const later = await request(fixture, appId, ['a', 'b'], '2100-04-01T00:00:00Z')
    const earlier = await request(fixture, appId, ['a'], accepted)
    await runAt(fixture, start)
    expect(await targetsOf(fixture, appId)).toEqual(['b'])
    expect(await showUserDeletion(fixture.database.db, appId, 'a')).toMatchObject({
      completes_at: '2100-04-07T00:00:00.000Z',
    })
    await runAt(fixture, completion)
    expect(await profilesOf(fixture, appId)).toEqual({ b: {} })
    await registerUsers(fixture.database.db, appId, ['a'])
    await runAt(fixture, '2100-05-07T00:00:00Z')
    expect(await profilesOf(fixture, appId)).toEqual({ a: {} })
    const listed = await listDeletions(fixture.database.db, appId, 10)
    expect(listed.map(({ request_id, users_deleted }) => [request_id, users_deleted])).toEqual([
      [later, 1],
      [earlier, 1],
    ])
  })

  test('completes a request all of whose users were deleted at an earlier date, without its own mail', async () => {
    const appId = await openApp(fixture, ['a'])
    await request(fixture, appId, ['a'], accepted)
    await request(fixture, appId, ['a'], '2100-04-05T00:00:00Z')
    expect(await runAt(fixture, completion)).toMatchObject({ completed: 2 })
    await runAt(fixture, '2100-12-24T00:00:00Z')
    expect(await mailEvents(fixture, appId)).toEqual([mail])
  })

  test('is proved for each request by a different hash, which does not reveal the ID', async () => {
    const appId = await openApp(fixture, ['a'])
    const requests = [
      await request(fixture, appId, ['a'], accepted),
      await request(fixture, appId, ['a', 'x'], accepted),
    ]
    await runAt(fixture, completion)
    for (const [index, id] of requests.entries()) {
      const { salt } = await fixture.database.db
        .selectFrom('deletion_requests')
        .select('salt')
        .where('request_id', '=', id)
        .executeTakeFirstOrThrow()
      const proofs = await fixture.database.db
        .selectFrom('deleted_users')
        .select('user_hash')
        .where('request_id', '=', id)
        .execute()
      expect(proofs.map(({ user_hash }) => user_hash.toString('hex'))).toContain(
        createHash('sha256').update(salt).update('a').digest('hex'),
      )
      expect(proofs).toHaveLength(index + 1)
    }
  })
})
