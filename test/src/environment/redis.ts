import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { endChild, killAtExit } from './program.ts'

/**
 * Finds a Redis for tests (design.md §2, npm test): `REDIS_TEST_URL`, or a new redis-server if the program is on the
 * path. Returns undefined if there is neither. With `CI=true` it throws instead, so that no suite is skipped unnoticed.
 *
 * `ofItsOwn` ignores `REDIS_TEST_URL`, for tests that stop the server.
 */
export async function startRedis(
  folder: string,
  { ofItsOwn = false } = {},
): Promise<{ url: string; stop(): Promise<void> } | undefined> {
  const given = process.env.REDIS_TEST_URL
  if (given && !ofItsOwn) return { url: given, stop: async () => {} }
  const port = await freePort()
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  const server = spawn('redis-server', settings, { stdio: 'ignore' })
  const [failure] = (await Promise.race([once(server, 'error'), once(server, 'spawn')])) as [Error | undefined]
  if (failure !== undefined) {
    if (process.env.CI === 'true') throw new Error('CI needs redis-server on the path, or REDIS_TEST_URL')
    console.warn('Redis suites are skipped: there is no redis-server on the path, and REDIS_TEST_URL is not set.')
    return undefined
  }
  killAtExit(server)
  const client = await connectWhenReady({ host: '127.0.0.1', port })
  client.disconnect()
  return { url: `redis://127.0.0.1:${port}`, stop: () => endChild(server, 'SIGTERM') }
}

/** How to log in to a redis-server. */
export interface RedisLogin {
  password?: string
  tls?: { rejectUnauthorized: boolean }
}

/** Connects to a redis-server that is starting, and waits until it answers. Throws if it takes more than 10 s. */
export async function connectWhenReady(options: RedisLogin & { host: string; port: number }): Promise<Redis> {
  const client = new Redis({ ...options, retryStrategy: () => 50, maxRetriesPerRequest: 200 })
  client.on('error', () => {}) // the server is not listening yet
  await client.ping().catch((error: unknown) => {
    client.disconnect()
    throw error
  })
  return client
}
