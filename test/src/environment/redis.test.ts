import { afterEach, expect, test, vi } from 'vitest'
import { startRedis } from './redis.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

// design.md §2, npm test.
test('without a redis-server, suites on Redis are skipped and say so; with CI=true, that is a failure', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue()
  vi.stubEnv('PATH', '/nowhere')
  vi.stubEnv('REDIS_TEST_URL', '')
  vi.stubEnv('CI', '')
  expect(await startRedis('/nowhere')).toBeUndefined()
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('Redis suites are skipped'))
  vi.stubEnv('CI', 'true')
  await expect(startRedis('/nowhere')).rejects.toThrow('CI needs redis-server on the path, or REDIS_TEST_URL')
})

// design.md §2, npm test.
test('REDIS_TEST_URL names the Redis of the suites', async () => {
  vi.stubEnv('REDIS_TEST_URL', 'redis://redis.test:1')
  expect(await startRedis('/nowhere')).toMatchObject({ url: 'redis://redis.test:1' })
})
