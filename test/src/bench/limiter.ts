import { createApp } from '@sluice/accounts'
import { buildApi } from '@sluice/api-app/src/api.ts'
import { openApiMetrics } from '@sluice/api-app/src/metrics.ts'
import { openApiRateLimiter, readRates } from '@sluice/api-app/src/rate-limiting.ts'
import { readSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { deletionSettings } from '@sluice/deletions'
import { receiveSettings } from '@sluice/imports'
import { openStorage, storageSettings } from '@sluice/storage'
import { pino } from 'pino'
import { startStack } from '../stack/running-stack.ts'
import { quantile } from './statistics.ts'
import { forEachStore } from './stores.ts'

const warmUp = 500
const requests = 5_000
/** Maximum time that the limiter may add at the median on Redis, ms. */
const target = 1

/**
 * Measures the time that the rate limiter adds to a request. A client sends the same request alternately to an API with
 * the limiter and to an API without it, and waits for each answer. Returns whether the target is reached on Redis.
 */
export async function benchLimiter(): Promise<boolean> {
  return await forEachStore(async (redisUrl) => {
    const stack = await startStack()
    try {
      const { database } = await stack.info()
      const added = await measure(database, redisUrl)
      return redisUrl === undefined || added < target
    } finally {
      await stack.stop()
    }
  })
}

/** Returns the time that the limiter adds at the median, ms. */
async function measure(databaseUrl: string, redisUrl: string | undefined): Promise<number> {
  const environment = {
    S3_ENDPOINT: 'http://127.0.0.1:1',
    S3_BUCKET: 'none',
    S3_ACCESS_KEY_ID: 'none',
    S3_SECRET_ACCESS_KEY: 'none',
    RATE_LIMIT_IMPORT_STATUS: '100000000/60s',
    RATE_LIMIT_TIMEOUT: '10s',
  }
  const settings = readSettings(environment, [...deletionSettings, ...receiveSettings, ...storageSettings])
  const log = pino({ level: 'warn' })
  const metrics = openApiMetrics()
  const { db, close } = connect(databaseUrl)
  const storage = openStorage(settings)
  const rateLimiter = await openApiRateLimiter(redisUrl ? { redisUrl } : { databaseUrl }, readRates(environment), {
    metrics,
    log,
  })
  const services = { db, storage, settings, log, apiUrl: 'http://api.test' }
  const limited = buildApi(services, { rateLimiter, metrics })
  const unlimited = buildApi(services)
  try {
    const { apiToken } = await createApp(db, { name: 'Bench', email: 'bench@example.com' })
    const urls = await Promise.all([limited, unlimited].map((api) => api.listen({ host: '127.0.0.1', port: 0 })))
    const [withLimiter = Number.NaN, without = Number.NaN] = await alternate(urls, apiToken)
    const added = withLimiter - without
    console.log(
      `a request at the median: ${without.toFixed(2)} ms without the limiter, ${withLimiter.toFixed(2)} ms with it; ` +
        `added ${added.toFixed(2)} ms${redisUrl ? ` (target below ${target} ms)` : ''}`,
    )
    return added
  } finally {
    await Promise.all([limited.close(), unlimited.close()])
    await rateLimiter.close()
    storage.close()
    await close()
  }
}

/** Sends the same lookup to each address alternately. Returns the median time of each address, ms. */
async function alternate(urls: readonly string[], token: string): Promise<number[]> {
  const times: number[][] = urls.map(() => [])
  for (let request = 0; request < warmUp + requests; request++) {
    for (const [index, url] of urls.entries()) {
      const sent = performance.now()
      const answer = await fetch(`${url}/v3/user_profiles/bulk_import/${crypto.randomUUID()}`, {
        headers: { 'X-Service-Token': token },
      })
      await answer.arrayBuffer()
      if (answer.status !== 404) throw new Error(`the lookup was answered ${answer.status}`)
      if (request >= warmUp) times[index]?.push(performance.now() - sent)
    }
  }
  return times.map((all) => quantile(all, 0.5))
}
