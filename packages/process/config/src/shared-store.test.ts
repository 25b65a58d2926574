import { expect, test } from 'vitest'
import { readSettings } from './read.ts'
import { sharedStore, sharedStoreSettings } from './shared-store.ts'

const DATABASE_URL = 'postgres://localhost/sluice'
const storeOf = (env: Record<string, string>) =>
  sharedStore(readSettings({ DATABASE_URL, ...env }, sharedStoreSettings))

// design.md §1, Technology; second-day.md §7, Redis.
test('queues and counts are in Postgres if there is no Redis', () => {
  expect(storeOf({})).toEqual({ databaseUrl: DATABASE_URL })
})

test('queues and counts are in Redis if its address or its Sentinels are set', () => {
  expect(storeOf({ REDIS_URL: 'redis://redis:6379' })).toMatchObject({ redisUrl: 'redis://redis:6379' })
  expect(storeOf({ REDIS_SENTINELS: 'redis://sentinel:26379' })).toMatchObject({
    sentinels: { urls: ['redis://sentinel:26379'], name: 'mymaster' },
  })
})
