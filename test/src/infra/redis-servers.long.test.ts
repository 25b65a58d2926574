import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQueues } from '@sluice/queue'
import { openRateLimiter } from '@sluice/rate-limits'
import { openRedis } from '@sluice/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../environment/certificate.ts'
import { freePort } from '../environment/free-port.ts'
import { endChild, killAtExit } from '../environment/program.ts'
import { seeded } from '../environment/random.ts'
import { connectWhenReady, type RedisLogin } from '../environment/redis.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { compareWithModel, untilAllEnded } from '../faults/harness/comparison.ts'
import { startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { slowBatches, untilRows } from '../faults/harness/import-states.ts'
import { queueSuite } from '../queue/queue-suite.ts'

const withRedis = describe.skipIf(inject('redisUrl') === undefined)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-redis-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

// second-day.md §7, Redis.
withRedis('Redis with TLS, a user that may only use its own keys, and a key prefix', () => {
  let server: Server
  let port: number
  let certificate: string
  let observer: Redis
  const store = () => ({
    redisUrl: `rediss://team:its%20password@127.0.0.1:${port}/0`,
    caFile: certificate,
    keyPrefix: 'team:',
  })
  beforeAll(async () => {
    const made = await makeCertificate(folder, 'redis')
    certificate = made.certificate
    port = await freePort()
    const lines = [
      'port 0',
      `tls-port ${port}`,
      `tls-cert-file ${certificate}`,
      `tls-key-file ${made.key}`,
      'tls-auth-clients no',
      'save ""',
      'user default on >admin ~* &* +@all',
      'user team on ">its password" ~team:* &team:* +@all -@admin -flushall -flushdb -keys',
    ]
    const client = { password: 'admin', tls: { rejectUnauthorized: false } }
    server = await startServer(folder, { port, lines, client })
    observer = new Redis({ host: '127.0.0.1', port, ...client })
  })
  afterAll(async () => {
    observer?.disconnect()
    await server?.kill()
  })
  beforeEach(async () => void (await observer.flushall()))
  queueSuite(store)

  test('all keys of queues and rate limits begin with the prefix', async () => {
    const queues = openQueues(store(), () => {})
    const failures: unknown[] = []
    const options = { deadlineMs: 5_000, onFailure: (error: unknown) => failures.push(error) }
    const limiter = await openRateLimiter(store(), { function: { requests: 5, windowMs: 60_000 } }, options)
    onTestFinished(async () => {
      await queues.close()
      await limiter.close()
    })
    await queues.add('imports', [{ id: 'job', payload: { appId: 1, importId: 'import' } }])
    expect(await limiter.count(1, 'function')).toMatchObject({ allowed: true })
    expect(await limiter.peek(1, 'function')).toMatchObject({ remaining: 4 })
    expect(failures).toEqual([])
    const keys = await observer.keys('*')
    expect(keys.length).toBeGreaterThan(1)
    expect(keys.filter((key) => !key.startsWith('team:'))).toEqual([])
  })

  test('a certificate that the CA file does not have is refused', async () => {
    const other = await makeCertificate(await mkdtemp(join(folder, 'other-')), 'redis')
    const options = { retries: 0, queued: false, lazy: true, responseTimeoutMs: 5_000, longestPauseMs: 100 }
    const redis = openRedis({ ...store(), caFile: other.certificate }, options)
    onTestFinished(() => redis.disconnect())
    const refused = once(redis, 'error')
    await expect(redis.connect()).rejects.toThrow()
    const [error]: unknown[] = await refused
    expect(String(error)).toMatch(/self-signed certificate/)
  })
})

withRedis('three Sentinels', () => {
  test('a connection opens again if another primary is announced while it is being opened', async () => {
    const trio = await startSentinelTrio(folder, 'sluice')
    onTestFinished(() => trio.close())
    const sentinels = { urls: trio.sentinels.split(',').map((address) => `redis://${address}`), name: 'sluice' }
    const options = { retries: 1, queued: true, responseTimeoutMs: 5_000, longestPauseMs: 100 }
    const redis = openRedis({ redisUrl: 'redis://:secret@ignored', sentinels }, options) as Redis
    for (const connection of [redis, redis.duplicate()]) {
      onTestFinished(() => connection.disconnect())
      connection.on('error', () => {})
      const becomes = (status: 'end' | 'ready') => new Promise<void>((resolve) => void connection.once(status, resolve))
      if (connection.status !== 'ready') await becomes('ready')
      // What ioredis does after an announcement.
      const announce = () => Reflect.get(connection, 'connector').disconnect()
      connection.once('connecting', () => queueMicrotask(announce))
      connection.disconnect(true)
      await becomes('end')
      await becomes('ready')
      expect(await connection.ping()).toBe('PONG')
    }
  })

  test('fail over in the middle of 20 imports: nothing is lost, nothing applies twice', async () => {
    const trio = await startSentinelTrio(folder, 'sluice')
    onTestFinished(() => trio.close())
    const deployment = await startDeployment({
      workers: 2,
      env: { REDIS_URL: 'redis://:secret@ignored', REDIS_SENTINELS: trio.sentinels, REDIS_SENTINEL_NAME: 'sluice' },
    })
    onTestFinished(() => deployment.close())
    await slowBatches(deployment.db, 50)
    const random = seeded(5)
    const apps = await Promise.all(Array.from({ length: 5 }, () => openClientApp(deployment)))
    const imports: string[] = []
    for (let number = 0; number < 20; number++) {
      const app = apps[number % apps.length]
      if (app !== undefined) imports.push(await upload(deployment, app, generateSoundFile(random, number, 300)))
    }
    await untilRows(deployment, imports[0] ?? '', 50)
    const former = await trio.primaryPort()
    await trio.killPrimary()
    await until('another primary', async () => (await trio.primaryPort()) !== former)
    await slowBatches(deployment.db, 0)
    await untilAllEnded(deployment, apps, 120_000)
    expect((await compareWithModel(deployment, apps)).violations).toEqual([])

    // The queues themselves work on the new primary, not only the tables.
    const redis = new Redis({ host: '127.0.0.1', port: await trio.primaryPort(), password: 'secret' })
    onTestFinished(() => redis.disconnect())
    await until('schedules on the new primary', async () => (await redis.keys('{sluice}:maintenance:*')).length > 0)
  }, 240_000)
})

interface Server {
  port: number
  kill(): Promise<void>
}

/** Starts a redis-server with the lines of a configuration file, and waits until it answers on `port`. */
async function startServer(
  folder: string,
  { port, lines, mode = [], client = {} }: { port: number; lines: string[]; mode?: string[]; client?: RedisLogin },
): Promise<Server> {
  const path = join(folder, `redis-${port}.conf`)
  await writeFile(path, `${['bind 127.0.0.1', `dir ${folder}`, ...lines].join('\n')}\n`)
  const child = spawn('redis-server', [path, ...mode], { stdio: 'ignore' })
  killAtExit(child)
  const redis = await connectWhenReady({ ...client, host: '127.0.0.1', port })
  redis.disconnect()
  return { port, kill: () => endChild(child) }
}

/** A primary, two replicas, and three Sentinels that watch them. */
interface SentinelTrio {
  /** Addresses of the Sentinels, as in `REDIS_SENTINELS`. */
  sentinels: string
  /** Returns the port of the server that the Sentinels call the primary. */
  primaryPort(): Promise<number>
  killPrimary(): Promise<void>
  close(): Promise<void>
}

/** Starts servers and Sentinels with their files in `folder`. All of them demand the password `secret`. */
async function startSentinelTrio(folder: string, name: string): Promise<SentinelTrio> {
  const login = ['requirepass secret', 'masterauth secret', 'save ""']
  const client = { password: 'secret' }
  const servers: Server[] = []
  for (let number = 0; number < 3; number++) {
    const port = await freePort()
    const [primary] = servers
    const replica = primary === undefined ? [] : [`replicaof 127.0.0.1 ${primary.port}`]
    servers.push(await startServer(folder, { port, lines: [`port ${port}`, ...login, ...replica], client }))
  }
  const sentinels: Server[] = []
  for (let number = 0; number < 3; number++) {
    const port = await freePort()
    const lines = [
      `port ${port}`,
      `sentinel monitor ${name} 127.0.0.1 ${servers[0]?.port} 2`,
      `sentinel auth-pass ${name} secret`,
      `sentinel down-after-milliseconds ${name} 1000`,
      `sentinel failover-timeout ${name} 5000`,
    ]
    sentinels.push(await startServer(folder, { port, lines, mode: ['--sentinel'] }))
  }
  const observer = new Redis({ host: '127.0.0.1', port: sentinels[0]?.port ?? 0 })
  const known = async (kind: 'replicas' | 'sentinels') => {
    const found = await observer.call('SENTINEL', kind, name)
    return Array.isArray(found) ? found.length : 0
  }
  await until(
    'the Sentinels to know everybody',
    async () => (await known('replicas')) === 2 && (await known('sentinels')) === 2,
  )
  const primaryPort = async () => {
    const found = await observer.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
    return Array.isArray(found) ? Number(found[1]) : 0
  }
  return {
    sentinels: sentinels.map(({ port }) => `127.0.0.1:${port}`).join(','),
    primaryPort,
    async killPrimary() {
      const port = await primaryPort()
      await servers.find((server) => server.port === port)?.kill()
    },
    async close() {
      observer.disconnect()
      await Promise.all([...sentinels, ...servers].map((server) => server.kill()))
    },
  }
}
