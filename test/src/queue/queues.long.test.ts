import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRateLimiter } from '@sluice/rate-limits'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { freePort } from '../environment/free-port.ts'
import { endChild, killAtExit } from '../environment/program.ts'
import { connectWhenReady } from '../environment/redis.ts'
import { until } from '../environment/wait.ts'
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

/** Number of slots of a Redis Cluster. */
const slots = 16_384

/** A Redis Cluster of three nodes, each with a third of the slots. */
interface RedisCluster {
  /** Addresses of the nodes, separated by commas. */
  urls: string
  empty(): Promise<void>
  stop(): Promise<void>
}

/** Starts a Redis Cluster with its files in `folder`. Throws if there is no redis-server. */
async function startRedisCluster(folder: string): Promise<RedisCluster> {
  const parts = new AsyncDisposableStack()
  try {
    const nodes = [
      await startNode(folder, 0, parts),
      await startNode(folder, 1, parts),
      await startNode(folder, 2, parts),
    ]
    for (const [index, { redis }] of nodes.entries()) {
      const [first, next] = [index, index + 1].map((third) => String(Math.floor((slots * third) / nodes.length)))
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', first ?? '', String(Number(next) - 1))
      for (const { port, busPort } of nodes) {
        await redis.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort))
      }
    }
    for (const { redis } of nodes) {
      await until('the cluster', async () => String(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
    }
    return {
      urls: nodes.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
      empty: async () => void (await Promise.all(nodes.map(({ redis }) => redis.flushall()))),
      stop: () => parts.disposeAsync(),
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

async function startNode(folder: string, number: number, parts: AsyncDisposableStack) {
  const [port, busPort] = [await freePort(), await freePort()]
  const settings = {
    port,
    bind: '127.0.0.1',
    save: '',
    dir: folder,
    'cluster-enabled': 'yes',
    'cluster-port': busPort,
    'cluster-config-file': `node-${number}.conf`,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn('redis-server', args, { stdio: 'ignore' })
  killAtExit(server)
  await once(server, 'spawn')
  parts.defer(() => endChild(server, 'SIGTERM'))
  const redis = await connectWhenReady({ host: '127.0.0.1', port })
  parts.defer(() => redis.disconnect())
  return { port, busPort, redis }
}
