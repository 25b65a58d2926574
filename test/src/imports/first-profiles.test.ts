import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { importFile, openApp, openImportFixture, profilesOf } from './import-fixture.ts'

// If the users of earlier batches had no profiles, later batches skip the lookup of profiles, until an insert finds
// one. The result is the same as with a lookup.
const fixture = openBeforeEach(() => openImportFixture({ BATCH_ROWS: '2' }))
let appId: number
const users = Array.from({ length: 12 }, (_, index) => `user${index}`)

beforeEach(async () => {
  appId = await openApp(fixture, users)
  // Registers the keys, because a batch that may register keys is in flight alone.
  await importFile(fixture, appId, 'user_id,n,m\nuser11,0,0\n')
})

const numbered = (key: 'n' | 'm', ids: readonly string[]) =>
  `user_id,${key}\n${ids.map((id, index) => `${id},${index + 1}\n`).join('')}`

test('values are merged into profiles that the first batches did not suggest', async () => {
  await importFile(fixture, appId, numbered('m', users.slice(7, 9)))
  const { view } = await importFile(fixture, appId, numbered('n', users))
  expect(view).toMatchObject({ state: 'completed', rows_applied: 12, rows_failed: 0 })
  const expected = users.map((id, index) => [id, { n: index + 1 }])
  expect(await profilesOf(fixture, appId)).toEqual({
    ...Object.fromEntries(expected),
    user7: { m: 1, n: 8 },
    user8: { m: 2, n: 9 },
    user11: { m: 0, n: 12 },
  })
})

test('a user who occurs again in a later batch has the values of the last row', async () => {
  const { view } = await importFile(fixture, appId, numbered('n', [...users.slice(0, 10), 'user0', 'user4']))
  expect(view).toMatchObject({ state: 'completed', rows_applied: 12, rows_failed: 0 })
  expect(await profilesOf(fixture, appId)).toMatchObject({ user0: { n: 11 }, user4: { n: 12 }, user9: { n: 10 } })
})

test('unregistered users are found among users without profiles', async () => {
  const ids = ['user0', 'user1', 'user2', 'stranger', 'user3', 'user4', 'nobody', 'user5']
  const { view, errorFile } = await importFile(fixture, appId, numbered('n', ids))
  expect(view).toMatchObject({ state: 'completed', rows_applied: 6, rows_failed: 2 })
  const lines = String(errorFile)
  expect(lines).toContain('stranger,4')
  expect(lines).toContain('nobody,7')
})
