import { openQueues } from '@sluice/queue'
import { beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { freePort } from '../environment/free-port.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'
import { queueSuite } from './queue-suite.ts'

// One suite for both backends: every guarantee must hold on both. queues.long.test.ts has a Redis Cluster.
// design.md §1, Technology; design.md §4, No lost work.
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

test('workers whose Redis was never there close at once, so that their process can end', async () => {
  const errors: Error[] = []
  const queues = openQueues({ redisUrl: `redis://127.0.0.1:${await freePort()}` }, (error) => errors.push(error))
  queues.work('imports', async () => {}, { concurrency: 1 })
  await until('a failed connection', async () => errors.length > 0)
  await queues.close()
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
