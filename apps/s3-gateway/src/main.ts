import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { addressSetting, readSettings, sharedStore, sharedStoreSettings } from '@sluice/config'
import { checkSchema, connect } from '@sluice/database'
import { dispatchSettings, openWaker } from '@sluice/imports'
import { openCellRouter } from '@sluice/moves'
import { warnOfForeignSecrets } from '@sluice/operations'
import { countConnections, requestHistogram, runService, untilListening } from '@sluice/service'
import { openStorage, storageSettings } from '@sluice/storage'
import { forwardToCells } from './forwarding.ts'
import { bucketLimitSettings, openBucketLimiter } from './limits.ts'
import { observeRequests } from './metrics.ts'
import { createGateway, gatewaySettings } from './server.ts'
import { maxStorageRequests } from './shares.ts'

/** How long uploads in flight may continue after the process is told to stop. */
const uploadGraceMs = 10_000
/** Maximum duration of a shutdown. The process is then ended by force. */
const stopDeadlineMs = 15_000

await runService('s3-gateway', { stopDeadlineMs }, async (log, operations) => {
  const settings = readSettings(process.env, [
    ...bucketLimitSettings,
    ...dispatchSettings,
    ...gatewaySettings,
    ...storageSettings,
    'CELL',
    'CELL_S3_GATEWAYS',
    'DATABASE_POOL',
    ...sharedStoreSettings,
    'DRAIN_DELAY',
    'S3_GATEWAY_HOST',
    'S3_GATEWAY_PORT',
  ])
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, onError })
  countConnections(operations.metrics, database)
  void warnOfForeignSecrets(database.db, settings.ENCRYPTION_KEYS, log)
  const storage = openStorage(settings, undefined, maxStorageRequests)
  const store = sharedStore(settings)
  const limiter = await openBucketLimiter(store, settings, log)
  const waker = openWaker(store, { db: database.db, settings, log })
  const cells = openCellRouter({ db: database.db, log }, { own: settings.CELL, addresses: settings.CELL_S3_GATEWAYS })
  const services = { db: database.db, storage, log, limiter, wakeWorker: waker.wake }
  const server = createGateway({ ...services, ...(cells && { forward: forwardToCells(cells) }) }, settings)
  observeRequests(server.http, requestHistogram(operations.metrics))
  const { require } = operations.readiness
  require({ name: 'postgres', setting: 'DATABASE_URL', check: () => checkSchema(database.db) })
  require({ name: 'storage', setting: 'S3_ENDPOINT', check: storage.check })
  const redis = { name: 'redis', setting: addressSetting(store), isOptional: true, check: limiter.check }
  if ('redisUrl' in store) require(redis)
  server.http.listen(settings.S3_GATEWAY_PORT, settings.S3_GATEWAY_HOST)
  await untilListening('S3_GATEWAY', once(server.http, 'listening'))
  return {
    info: { address: server.http.address() },
    drainMs: settings.DRAIN_DELAY,
    async stop() {
      const closed = once(server.http, 'close')
      server.http.close()
      await Promise.race([server.idle(), delay(uploadGraceMs, undefined, { ref: false })])
      server.http.closeAllConnections()
      await closed
      await server.idle()
      cells?.close()
      for (const each of [waker, limiter]) await each.close()
      storage.close()
      await database.close()
    },
  }
})
