import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQueues } from '@sluice/queue'
import { openRateLimiter } from '@sluice/rate-limits'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { type RedisCluster, startRedisCluster } from '../environment/redis-cluster.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'
import { queueSuite } from './queue-suite.ts'

// One suite for both backends: every guarantee must hold on both.
describe('queues on Postgres', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await openTestDatabase()
    return () => database.close()
  })
  queueSuite(() => ({ databaseUrl: database.url }))
})

test('queues and workers that are opened during an outage of Postgres work after it', async () => {
  const database = await openTestDatabase()
  const proxy = await startTcpProxy(() => Number(new URL(database.url).port))
  const queues = openQueues({ databaseUrl: throughProxy(database.url, proxy) }, () => {})
  onTestFinished(async () => {
    await queues.close()
    await proxy.close()
    await database.close()
  })
  proxy.set({ kind: 'refuse' })
  const ran: number[] = []
  queues.work('imports', async ({ appId }) => void ran.push(appId), { concurrency: 1 })
  const job = { id: 'job', payload: { appId: 1, importId: 'import' } }
  await expect(queues.add('imports', [job])).rejects.toThrow()
  proxy.set({ kind: 'fine' })
  const added = () =>
    queues.add('imports', [job]).then(
      () => true,
      () => false,
    )
  await until('the job to be added', added)
  await until('the job to run', () => ran.length > 0)
})

describe.skipIf(inject('redisUrl') === undefined)('queues on Redis', () => {
  // All tests share one Redis database, which is emptied before each: Redis has too few databases for one per test.
  const redisUrl = `${inject('redisUrl')}/9`
  beforeEach(async () => {
    const { Redis } = await import('ioredis')
    const redis = new Redis(redisUrl)
    await redis.flushdb()
    redis.disconnect()
  })
  queueSuite(() => ({ redisUrl }))
})

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
