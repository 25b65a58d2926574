import { addressSetting, isSet, queueNames, readSettings, sharedStore } from '@sluice/config'
import { checkSchema, connect } from '@sluice/database'
import { makeRoomAfter } from '@sluice/imports'
import { openMailer } from '@sluice/mail'
import { openHeartbeat, warnOfForeignSecrets } from '@sluice/operations'
import { openQueues } from '@sluice/queue'
import { atIntervals, countConnections, runService } from '@sluice/service'
import { openStorage } from '@sluice/storage'
import { delivererSettings, openDeliverer } from '@sluice/webhooks'
import { showBacklog } from './backlog.ts'
import { hostExports } from './exports.ts'
import { hostImports } from './imports.ts'
import { hostMails } from './mails.ts'
import { hostMaintenance } from './maintenance.ts'
import { openWorkerMetrics } from './metrics.ts'
import { lowerPriority } from './priority.ts'
import { workerSettings } from './settings.ts'
import { hostWebhooks } from './webhooks.ts'

/**
 * The process is ended by force after this time, ms. Many supervisors, such as Docker, kill a process 10 s after
 * SIGTERM.
 */
const stopDeadlineMs = 9_500

const hosts = {
  imports: hostImports,
  exports: hostExports,
  mails: hostMails,
  webhooks: hostWebhooks,
  maintenance: hostMaintenance,
}

await runService('worker', { stopDeadlineMs }, async (log, operations) => {
  lowerPriority(log)
  const hosted = hostedQueues(process.env)
  // Only the webhooks queue needs the keys that decrypt secrets in the database.
  const ofWebhooks = hosted.includes('webhooks') ? delivererSettings : []
  const settings = readSettings(process.env, [...workerSettings, ...ofWebhooks])
  if (!isSet(process.env, 'WORKER_QUEUES') && !hosted.includes('webhooks'))
    log.warn('webhooks are not sent: ENCRYPTION_KEYS is not set')
  const onError = atIntervals(
    (error: Error, errors) => log.warn({ err: error, errors }, 'connection or job error'),
    ({ message }) => message,
  )
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, process: 'worker', onError })
  if (hosted.includes('webhooks')) void warnOfForeignSecrets(database.db, settings.ENCRYPTION_KEYS, log)
  const stopping = new AbortController()
  const storage = openStorage(settings, stopping.signal)
  const mailer = openMailer(database.db, settings, dashboardSetting())
  const deliverer = hosted.includes('webhooks') ? openDeliverer(database.db, settings) : undefined
  const store = sharedStore(settings)
  const context = { db: database.db, storage, settings, log, ...dashboardSetting() }
  const onJobError = (error: Error) => {
    onError(error)
    // A claimed import handles a full disk itself. Other jobs and the queue rely on this call.
    void makeRoomAfter(error, context)
  }
  const queues = openQueues(store, onJobError)
  const metrics = openWorkerMetrics(operations.metrics)
  const heartbeat = openHeartbeat(database.db, hosted, (error) => log.warn({ err: error }, 'heartbeat not written'))
  const host = { context, queues, mailer, deliverer, metrics, heartbeat, onJobError }

  countConnections(operations.metrics, database)
  if (hosted.includes('maintenance')) showBacklog(operations.metrics, database.db, queues)
  operations.readiness.require({ name: 'postgres', setting: 'DATABASE_URL', check: () => checkSchema(database.db) })
  operations.readiness.require({ name: 'queue', setting: addressSetting(store), check: queues.check })
  const stops = hosted.map((name) => hosts[name](host))

  return {
    info: { queues: hosted, queue_store: 'redisUrl' in store ? 'redis' : 'postgres' },
    async stop() {
      for (const stop of stops) stop()
      // Not before the stops: a job whose request to storage is aborted must know that the process is stopping.
      stopping.abort()
      await queues.close()
      await heartbeat.stop()
      mailer.close()
      storage.close()
      await database.close()
    },
  }
})

/**
 * Returns the queues that this process hosts: those of `WORKER_QUEUES`, or all queues if it is not set. In the latter
 * case, `webhooks` is included only if `ENCRYPTION_KEYS` is set, because these keys decrypt the secrets of webhooks.
 */
function hostedQueues(environment: NodeJS.ProcessEnv) {
  const { WORKER_QUEUES } = readSettings(environment, ['WORKER_QUEUES'])
  const isKeyMissing = !isSet(environment, 'WORKER_QUEUES') && !isSet(environment, 'ENCRYPTION_KEYS')
  return queueNames.filter((name) => WORKER_QUEUES.includes(name) && !(name === 'webhooks' && isKeyMissing))
}

/** Returns the address of the dashboard, if it is set. Without it, mails have no links to it. */
function dashboardSetting(): { dashboardUrl?: string } {
  if (!isSet(process.env, 'DASHBOARD_URL')) return {}
  return { dashboardUrl: readSettings(process.env, ['DASHBOARD_URL']).DASHBOARD_URL }
}
