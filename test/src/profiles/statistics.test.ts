import { profileStatistics } from '@sluice/profiles'
import { beforeAll, expect, test } from 'vitest'
import { addUsers } from '../dashboard/sample-data.ts'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'

const database = openBeforeAll(openTestDatabase)
beforeAll(async () => {
  await database.db
    .insertInto('apps')
    .values([{ name: 'Large' }, { name: 'Small' }, { name: 'Middle' }, { name: 'Empty' }])
    .execute()
  await addUsers(database.db, 1, 60_000)
  await addUsers(database.db, 2, 300)
  await addUsers(database.db, 3, 1_500)
})

/** Returns fill rates by key, percent. */
async function fillOf(appId: number) {
  const { keys, sampled, isComplete } = await profileStatistics(database.db, appId, 500)
  const filled = Object.fromEntries(keys.map(({ key, filled }) => [key, Math.round((100 * filled) / sampled)]))
  return { filled, sampled, isComplete, keys }
}

test('all users of a small app are counted exactly', async () => {
  const { filled, sampled, isComplete, keys } = await fillOf(2)
  expect({ filled, sampled, isComplete }).toEqual({
    filled: { plan: 100, age: 50, score: 100, last_seen: 100, unused: 0 },
    sampled: 300,
    isComplete: true,
  })
  expect(keys.find(({ key }) => key === 'plan')?.examples).toEqual(['basic', 'free', 'premium'])
})

test('a large app is estimated from a thousand users all over the table', async () => {
  const { filled, sampled, isComplete, keys } = await fillOf(1)
  expect({ sampled, isComplete }).toEqual({ sampled: 1000, isComplete: false })
  expect(filled).toMatchObject({ plan: 100, score: 100, unused: 0 })
  expect(filled.age).toBeGreaterThan(40)
  expect(filled.age).toBeLessThan(60)
  expect(keys.find(({ key }) => key === 'last_seen')?.examples[0]).toMatch(/^2026-/)
  expect(keys).toHaveLength(5)
})

test('an app that random pages hardly reach is estimated from its first users', async () => {
  const { filled, sampled, isComplete } = await fillOf(3)
  expect({ sampled, isComplete }).toEqual({ sampled: 1000, isComplete: false })
  expect(filled).toMatchObject({ plan: 100, unused: 0 })
})

test('an app without users or keys has no statistics', async () => {
  expect(await profileStatistics(database.db, 4, 500)).toEqual({ keys: [], limit: 500, sampled: 0, isComplete: true })
})
