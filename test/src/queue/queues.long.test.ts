import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRateLimiter } from '@sluice/rate-limits'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { type RedisCluster, startRedisCluster } from '../environment/redis-cluster.ts'
import { queueSuite } from './queue-suite.ts'

// The suite of queues.test.ts on a Redis Cluster.
describe.skipIf(inject('redisUrl') === undefined)('queues on a Redis Cluster', () => {
  let folder: string
  let cluster: RedisCluster
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-cluster-'))
    cluster = await startRedisCluster(folder)
  })
  afterAll(async () => {
    await cluster?.stop()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(() => cluster.empty())
  queueSuite(() => ({ redisUrl: cluster.urls }))

  test('rate limits are counted, on whichever node an app is', async () => {
    const limits = { function: { requests: 5, windowMs: 60_000 } }
    const failures: unknown[] = []
    const options = { deadlineMs: 5_000, onFailure: (error: unknown) => failures.push(error) }
    const limiter = await openRateLimiter({ redisUrl: cluster.urls }, limits, options)
    onTestFinished(() => limiter.close())
    for (let request = 1; request <= 6; request++) {
      const counts = await Promise.all(Array.from({ length: 20 }, (_, app) => limiter.count(app, 'function')))
      expect(counts.map((count) => count?.allowed)).toEqual(counts.map(() => request <= 5))
    }
    expect(failures).toEqual([])
  })
})
