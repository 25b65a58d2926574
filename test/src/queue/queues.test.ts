import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SharedStore } from '@sluice/config'
import { openQueues, type Queues } from '@sluice/queue'
import { openRateLimiter } from '@sluice/rate-limits'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { type RedisCluster, startRedisCluster } from '../environment/redis-cluster.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'

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

function queueSuite(store: () => SharedStore): void {
  const opened: Queues[] = []
  /** The errors of this test's queues. A closed connection may report an error after the next test has begun. */
  let errors: Error[] = []
  const open = () => {
    const own = errors
    const queues = openQueues(store(), (error) => own.push(error))
    opened.push(queues)
    return queues
  }
  const job = (n: number) => ({ id: `job-${n}`, payload: { appId: n, importId: `import ${n}` } })

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((queues) => queues.close()))
    const seen = errors
    errors = []
    expect(seen).toEqual([])
  })

  test('each job runs on one of several workers, once, with its payload', async () => {
    const seen: number[] = []
    const producer = open()
    for (let i = 0; i < 3; i++) {
      open().work('imports', async ({ appId, importId }) => void (importId === `import ${appId}` && seen.push(appId)), {
        concurrency: 4,
      })
    }
    await producer.add(
      'imports',
      Array.from({ length: 50 }, (_, n) => job(n)),
    )
    await until('all jobs to run', () => seen.length >= 50)
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n))
  })

  test('an ID is not added again while its job waits or runs, and can be used again afterwards', async () => {
    const producer = open()
    await producer.add('imports', [job(1), job(1)])
    await producer.add('imports', [job(1)])
    let runs = 0
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    open().work(
      'imports',
      async () => {
        runs++
        await held
      },
      { concurrency: 4 },
    )
    await until('the job to run', () => runs === 1)
    await producer.add('imports', [job(1), job(2)])
    await until('the other job to run', () => runs === 2)
    release()
    await until('the job to run again', async () => {
      await producer.add('imports', [job(1)])
      return runs >= 3
    })
  })

  test('closing waits for running jobs', async () => {
    const producer = open()
    const worker = openQueues(store(), (error) => errors.push(error))
    const started = Promise.withResolvers<void>()
    const closing = Promise.withResolvers<void>()
    const events: string[] = []
    worker.work(
      'imports',
      async () => {
        started.resolve()
        await closing.promise
        await producer.check()
        events.push('job ended')
      },
      { concurrency: 1 },
    )
    await producer.add('imports', [job(1)])
    await started.promise
    const closed = worker.close().then(() => events.push('closed'))
    closing.resolve()
    await closed
    expect(events).toEqual(['job ended', 'closed'])
  })

  test('a schedule that several processes set, at the same moment and again later, adds jobs repeatedly', async () => {
    let ticks = 0
    const queues = open()
    const all = [queues, open(), open()]
    queues.work('maintenance', async (_, task) => void (task === 'tick' && ticks++), { concurrency: 1 })
    // BullMQ may lose a schedule that several processes set at one moment. Every worker sets it again and again, which
    // repairs it.
    await until('three ticks', async () => {
      await Promise.all(all.map((each) => each.schedule('tick', 100)))
      return ticks >= 3
    })
  })

  test('a job that throws is reported and removed: its ID can be added again', async () => {
    const queues = open()
    let runs = 0
    queues.work(
      'imports',
      async () => {
        runs++
        if (runs === 1) throw new Error('as expected')
      },
      { concurrency: 1 },
    )
    await queues.add('imports', [job(1)])
    await until('the error of the job', () => errors.length === 1)
    expect(errors.splice(0).map((error) => error.message)).toEqual(['as expected'])
    await until('the second run', async () => {
      await queues.add('imports', [job(1)])
      return runs >= 2
    })
  })
}
