import { Gauge, Registry } from '@prometheus-io/client'
import type { Database } from '@sluice/database'
import { deletionBacklog } from '@sluice/deletions'
import { importBacklog } from '@sluice/imports'
import { mailBacklog } from '@sluice/mail'
import type { Queues } from '@sluice/queue'
import type { Metrics } from '@sluice/service'
import { webhookBacklog } from '@sluice/webhooks'

/** Maximum age of the figures, ms. The tables are not queried more often, however often the metrics are read. */
const longestAgeMs = 5_000

/**
 * Exposes the metrics of the work that waits in the tables and in the queues, for all apps. Every worker that hosts
 * maintenance exposes the same values: alerts and graphs must use their maximum, not their sum. While Postgres is
 * unreachable, the tables have no values, since old values would look current.
 */
export function showBacklog({ others }: Metrics, db: Database, queues: Queues): void {
  others.push(queues.metrics)
  const registry = new Registry()
  const set = openGauges(registry)
  let queried: Promise<void> | undefined
  let queriedAt = 0
  others.push(async () => {
    if (queried === undefined || performance.now() - queriedAt > longestAgeMs) {
      queriedAt = performance.now()
      queried = set(db)
    }
    await queried
    return await registry.metrics()
  })
}

const readBacklogs = (db: Database) =>
  Promise.all([importBacklog(db), mailBacklog(db), webhookBacklog(db), deletionBacklog(db)])

/** Creates the gauges. Returns a function that sets all of them. */
function openGauges(registry: Registry): (db: Database) => Promise<void> {
  const gauge = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const imports = gauge('sluice_imports', 'Imports that have not ended, by state', 'state')
  const runnable = gauge(
    'sluice_runnable_imports',
    'Imports and dry runs that run, or could run now if a worker were free: at most one of each kind and app',
  )
  const pausedApps = gauge('sluice_paused_apps', 'Apps whose imports are paused')
  const allPaused = gauge('sluice_paused', '1 while the imports of all apps are paused, otherwise 0')
  const oldest = gauge(
    'sluice_import_oldest_waiting_seconds',
    'Longest wait of an import, among apps with one, few (2 to 10) and many waiting imports; without paused apps and waits for a held import',
    'app_class',
  )
  const oldestHeld = gauge('sluice_import_oldest_held_seconds', 'How long the oldest held import has been held')
  const mails = gauge('sluice_mails_waiting', 'Mails that are to be sent')
  const overdue = gauge('sluice_mail_oldest_due_seconds', 'How long the mail that is due the longest has been due')
  const deliveries = gauge('sluice_webhooks_waiting', 'Webhook deliveries that are to be sent')
  const deliveriesOverdue = gauge(
    'sluice_webhook_oldest_due_seconds',
    'How long the webhook delivery that is due the longest has been due, without apps that have an attempt in flight',
  )
  const failingEndpoints = gauge(
    'sluice_webhook_failing_endpoints',
    'Webhook endpoints that no delivery has reached since one failed for good',
  )
  const deletions = gauge(
    'sluice_deletion_requests',
    'Deletion requests that are open, and those of them that are due',
    'state',
  )
  return async (db) => {
    const [backlog, mail, webhook, deletion] = await readBacklogs(db)
    for (const [state, count] of Object.entries(backlog.states)) imports.set({ state }, count)
    for (const [app_class, seconds] of Object.entries(backlog.oldestWaiting)) oldest.set({ app_class }, seconds)
    oldestHeld.set(backlog.oldestHeld)
    runnable.set(backlog.runnable)
    pausedApps.set(backlog.pausedApps)
    allPaused.set(backlog.allPaused ? 1 : 0)
    mails.set(mail.waiting)
    overdue.set(mail.overdue)
    deliveries.set(webhook.waiting)
    deliveriesOverdue.set(webhook.overdue)
    failingEndpoints.set(webhook.failingEndpoints)
    for (const [state, count] of Object.entries(deletion)) deletions.set({ state }, count)
  }
}
