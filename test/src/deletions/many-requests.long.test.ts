import { listDeletions } from '@sluice/deletions'
import { expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { openApp, profilesOf } from '../imports/import-fixture.ts'
import { mailEvents, openDeletionFixture, request, runAt, runCutShort, schedule } from './deletion-fixture.ts'

const { accepted, start, completion, mail } = schedule
const fixture = openBeforeEach(() => openDeletionFixture({ DELETION_BATCH_USERS: '20' }))

test('a request for each user is as efficient as one for all users: as many batches, one mail', async () => {
  const many = Array.from({ length: 1_100 }, (_, index) => `single-${index}`)
  const appId = await openApp(fixture, many)
  for (const user of many) await request(fixture, appId, [user], accepted)
  await request(fixture, appId, many.slice(0, 30), '2100-04-05T00:00:00Z')
  expect(await runAt(fixture, start)).toMatchObject({ started: 1_100, completed: 0 })
  await runCutShort(fixture, completion, 3)
  expect(Object.keys(await profilesOf(fixture, appId))).toHaveLength(1_100 - 3 * 20)
  expect(await runAt(fixture, completion)).toMatchObject({ completed: 1_101, usersDeleted: 1_100 - 3 * 20 })
  expect(await profilesOf(fixture, appId)).toEqual({})
  expect(await mailEvents(fixture, appId)).toEqual([mail])
  const listed = await listDeletions(fixture.database.db, appId, 2_000)
  expect(listed.filter(({ users_deleted }) => users_deleted === 1)).toHaveLength(1_100)
})
