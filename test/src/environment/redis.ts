import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'

/**
 * Finds a Redis for tests: `REDIS_TEST_URL`, or a new redis-server if the program is on the path. Returns undefined if
 * there is neither. With `CI=true` it throws instead, so that no suite is skipped unnoticed.
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
  // Leaves no server running if a signal ends this process, as may happen to a benchmark.
  const kill = () => void server.kill('SIGKILL')
  process.once('exit', kill)
  server.once('exit', () => process.off('exit', kill))
  const url = `redis://127.0.0.1:${port}`
  const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 200 })
  client.on('error', () => {}) // the server is not listening yet
  await client.ping()
  client.disconnect()
  return {
    url,
    async stop() {
      server.kill('SIGTERM')
      if (server.exitCode === null) await once(server, 'exit')
    },
  }
}
