import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '../../environment/redis.ts'

/**
 * Runs a benchmark with the shared store in Postgres, and then in Redis if it is available. `bench` receives the
 * address of Redis, or undefined for Postgres. Returns whether each run reached its targets.
 */
export async function forEachStore(bench: (redisUrl: string | undefined) => Promise<boolean>): Promise<boolean> {
  console.log('rate limits in Postgres:')
  const onPostgres = await bench(undefined)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  try {
    const redis = await startRedis(folder)
    if (redis === undefined) return onPostgres
    console.log('rate limits in Redis:')
    try {
      return (await bench(redis.url)) && onPostgres
    } finally {
      await redis.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
