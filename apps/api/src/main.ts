import { addressSetting, readSettings, sharedStore, sharedStoreSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { deletionRequestSettings } from '@sluice/deletions'
import { dispatchSettings, openUploadWatch, openWaker, receiveSettings, uploadWatchSettings } from '@sluice/imports'
import { openCellRouter } from '@sluice/moves'
import { countConnections, runService, untilListening } from '@sluice/service'
import { openStorage, storageSettings } from '@sluice/storage'
import { buildApi } from './api.ts'
import { bodySettings } from './bodies-in-flight.ts'
import { timeoutSettings } from './hardening.ts'
import { openApiMetrics } from './metrics.ts'
import { openApiRateLimiter, rateSettings, readRates } from './rate-limiting.ts'

/** Maximum duration of a shutdown. Longer than the 10 s that requests in flight have to end. */
const stopDeadlineMs = 15_000

const apiSettings = [
  ...bodySettings,
  ...deletionRequestSettings,
  ...dispatchSettings,
  ...receiveSettings,
  ...storageSettings,
  ...timeoutSettings,
  ...uploadWatchSettings,
  'API_HOST',
  'API_PORT',
  'API_TRUSTED_PROXIES',
  'API_URL',
  'CELL',
  'CELLS',
  'DATABASE_POOL',
  ...sharedStoreSettings,
  'DRAIN_DELAY',
  'METRICS_PORT',
] as const

await runService('api', { stopDeadlineMs, ownSettings: Object.keys(rateSettings) }, async (log, operations) => {
  const settings = readSettings(process.env, apiSettings)
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, onError })
  countConnections(operations.metrics, database)
  const storage = openStorage(settings)
  const metrics = openApiMetrics(operations.metrics)
  const store = sharedStore(settings)
  const rateLimiter = await openApiRateLimiter(store, readRates(process.env), { metrics, log })
  const services = { db: database.db, storage, apiUrl: settings.API_URL, settings, log }
  const waker = openWaker(store, services)
  const uploads = openUploadWatch(services, waker.wake)
  const cells = openCellRouter(services, { own: settings.CELL, addresses: settings.CELLS })
  const context = { ...services, uploads, wakeWorker: waker.wake }
  const api = buildApi(context, {
    trustedProxies: settings.API_TRUSTED_PROXIES,
    timeouts: settings,
    ...(cells && { cells }),
    bodies: settings,
    rateLimiter,
    metrics,
    servesMetrics: settings.METRICS_PORT === 0,
    readiness: operations.readiness,
  })
  const redis = { name: 'redis', setting: addressSetting(store), isOptional: true, check: rateLimiter.check }
  if ('redisUrl' in store) operations.readiness.require(redis)
  const url = await untilListening('API', api.listen({ host: settings.API_HOST, port: settings.API_PORT }))
  return {
    info: { url },
    drainMs: settings.DRAIN_DELAY,
    async stop() {
      await api.close()
      uploads.close()
      await waker.close()
      await rateLimiter.close()
      storage.close()
      await database.close()
    },
  }
})
