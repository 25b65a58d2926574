import { importUnannouncedFiles, removeAbandonedUploads } from '@sluice/bucket-uploads'
import { currentTime, endStaleCopies } from '@sluice/database'
import { deleteApps, forgetDeletedUsers, runDeletions } from '@sluice/deletions'
import { removeOldExports } from '@sluice/exports'
import { removeOldKeys } from '@sluice/idempotency'
import {
  dispatchImports,
  noticeUploads,
  removeOldFiles,
  removeOldImports,
  reportCancelled,
  reserveDisk,
  sweepFiles,
} from '@sluice/imports'
import { dueMails, removeOldMails } from '@sluice/mail'
import { recordHistory } from '@sluice/operations'
import { removeEndedWindows } from '@sluice/rate-limits'
import { clearRemovedEndpoints, removeOldDeliveries } from '@sluice/webhooks'
import { dispatchDeliveries, dispatchExports, dispatchMails, dispatchNextMails } from './dispatch.ts'
import type { Host } from './host.ts'

/** Periodic work that repairs or cleans. One worker of the deployment at a time runs it. */
export interface MaintenanceTask {
  /** Names the task in the metrics. */
  name: string
  /** Returns the time between two runs, ms. */
  intervalMs(settings: Host['context']['settings']): number
  /** Runs the task once. Ends early if `context.shutdown` aborts; the next run does the rest. */
  run(host: Host): Promise<unknown>
}

const second = 1_000
const minute = 60 * second

const mailsPerRun = 1_000

const noticeUploadsTask: MaintenanceTask = {
  name: 'notice-uploads',
  intervalMs: (settings) => settings.UPLOAD_CHECK_INTERVAL,
  async run(host) {
    const { queued, expired } = await noticeUploads(host.context)
    if (queued + expired > 0) await dispatchImports(host)
  },
}

/** Searches the tables for work that the queue does not know of. */
const dispatchTask: MaintenanceTask = {
  name: 'dispatch',
  intervalMs: () => second,
  async run(host) {
    await dispatchImports(host)
    await dispatchExports(host)
    await dispatchMails(host, await dueMails(host.context.db, mailsPerRun))
  },
}

/** Enqueues webhook deliveries. Separate from {@link dispatchTask}, so that neither task delays the other. */
const dispatchWebhooksTask: MaintenanceTask = {
  name: 'dispatch-webhooks',
  intervalMs: () => second,
  run: (host) => dispatchDeliveries(host),
}

const reportCancelledTask: MaintenanceTask = {
  name: 'report-cancelled',
  intervalMs: () => second,
  async run(host) {
    await dispatchNextMails(host, await reportCancelled(host.context))
  },
}

const importUnannouncedFilesTask: MaintenanceTask = {
  name: 'import-unannounced-files',
  intervalMs: (settings) => settings.S3_GATEWAY_SEARCH_INTERVAL,
  async run(host) {
    const { imported, mails } = await importUnannouncedFiles(host.context)
    await dispatchNextMails(host, mails)
    if (imported > 0) await dispatchImports(host)
  },
}

const removeAbandonedUploadsTask: MaintenanceTask = {
  name: 'remove-abandoned-uploads',
  intervalMs: () => 10 * minute,
  run: ({ context }) => removeAbandonedUploads(context),
}

const removeFilesTask: MaintenanceTask = {
  name: 'remove-files',
  intervalMs: () => 10 * minute,
  run: ({ context }) => removeOldFiles(context),
}

const removeExportsTask: MaintenanceTask = {
  name: 'remove-exports',
  intervalMs: () => 10 * minute,
  run: ({ context }) => removeOldExports(context),
}

const sweepFilesTask: MaintenanceTask = {
  name: 'sweep-files',
  intervalMs: () => 10 * minute,
  run: ({ context }) => sweepFiles(context),
}

const forgetDeletedUsersTask: MaintenanceTask = {
  name: 'forget-deleted-users',
  intervalMs: () => 10 * minute,
  run: ({ context }) => forgetDeletedUsers(context),
}

const removeEndedWindowsTask: MaintenanceTask = {
  name: 'remove-ended-windows',
  intervalMs: () => 10 * minute,
  run: ({ context }) => removeEndedWindows(context.db),
}

const removeOldKeysTask: MaintenanceTask = {
  name: 'remove-old-keys',
  intervalMs: () => 10 * minute,
  run: ({ context }) => removeOldKeys(context.db, context.shutdown),
}

const reserveDiskTask: MaintenanceTask = {
  name: 'reserve-disk',
  intervalMs: () => 10 * minute,
  run: ({ context }) => reserveDisk(context.db),
}

const endStaleCopiesTask: MaintenanceTask = {
  name: 'end-stale-copies',
  intervalMs: () => 5 * second,
  async run({ context }) {
    const ended = await endStaleCopies(context.db, context.settings.EXPORT_TIME_LIMIT)
    if (ended > 0) context.log.warn({ ended }, 'transactions ended: the sender or the reader of their rows timed out')
  },
}

const runDeletionsTask: MaintenanceTask = {
  name: 'run-deletions',
  intervalMs: () => minute,
  async run(host) {
    const now = await currentTime(host.context.db)
    const { mails, completed, usersDeleted } = await runDeletions(host.context, now)
    host.metrics.deleted(completed, usersDeleted)
    await dispatchNextMails(host, mails)
  },
}

const clearRemovedEndpointsTask: MaintenanceTask = {
  name: 'clear-removed-endpoints',
  intervalMs: () => 10 * minute,
  run: ({ context }) => clearRemovedEndpoints(context.db, context.shutdown),
}

const deleteAppsTask: MaintenanceTask = {
  name: 'delete-apps',
  intervalMs: () => minute,
  run: ({ context }) => deleteApps(context),
}

const removeHistoryTask: MaintenanceTask = {
  name: 'remove-history',
  intervalMs: () => 10 * minute,
  async run({ context }) {
    const { HISTORY_RETENTION_DAYS: days } = context.settings
    if (days === 0) return
    const imports = await removeOldImports(context, days)
    const mails = await removeOldMails(context.db, days, context.shutdown)
    const deliveries = await removeOldDeliveries(context.db, days, context.shutdown)
    if (imports + mails + deliveries > 0) context.log.info({ imports, mails, deliveries }, 'history removed')
  },
}

const recordHistoryTask: MaintenanceTask = {
  name: 'record-history',
  intervalMs: () => minute,
  run: ({ context }) => recordHistory(context.db),
}

export const maintenanceTasks: readonly MaintenanceTask[] = [
  noticeUploadsTask,
  dispatchTask,
  dispatchWebhooksTask,
  reportCancelledTask,
  importUnannouncedFilesTask,
  removeAbandonedUploadsTask,
  removeFilesTask,
  removeExportsTask,
  sweepFilesTask,
  forgetDeletedUsersTask,
  removeEndedWindowsTask,
  removeOldKeysTask,
  reserveDiskTask,
  endStaleCopiesTask,
  runDeletionsTask,
  clearRemovedEndpointsTask,
  deleteAppsTask,
  removeHistoryTask,
  recordHistoryTask,
]
