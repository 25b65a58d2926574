import { readSettings, sharedStore } from '@sluice/config'
import { connect } from '@sluice/database'
import { deletionRequestSettings } from '@sluice/deletions'
import { receiveSettings } from '@sluice/imports'
import { runService } from '@sluice/service'
import { openStorage, storageSettings } from '@sluice/storage'
import { buildApi } from './api.ts'
import { timeoutSettings } from './hardening.ts'
import { openMetrics } from './metrics.ts'
import { openApiRateLimiter, rateLimitSettings } from './rate-limiting.ts'

/** Requests under way have 10 s to end, ms. */
const stopDeadline = 15_000

await runService('api', { stopDeadline }, async (log) => {
  const settings = readSettings(process.env, [
    ...deletionRequestSettings,
    ...rateLimitSettings,
    ...receiveSettings,
    ...storageSettings,
    ...timeoutSettings,
    'API_HOST',
    'API_PORT',
    'API_URL',
    'DATABASE_POOL',
    'DATABASE_URL',
    'REDIS_URL',
  ])
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, onError })
  const storage = openStorage(settings)
  const metrics = openMetrics()
  const rateLimiter = await openApiRateLimiter(sharedStore(settings), settings, { metrics, log })
  const context = { db: database.db, storage, apiUrl: settings.API_URL, settings, log }
  const api = buildApi(context, { timeouts: settings, rateLimiter, metrics })
  const url = await api.listen({ host: settings.API_HOST, port: settings.API_PORT })
  return {
    info: { url },
    async stop() {
      await api.close()
      await rateLimiter.close()
      storage.close()
      await database.close()
    },
  }
})
