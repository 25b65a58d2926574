import { importUnannouncedFiles, removeAbandonedUploads } from '@sluice/bucket-uploads'
import { currentTime, endStaleCopies } from '@sluice/database'
import { forgetDeletedUsers, runDeletions } from '@sluice/deletions'
import { noticeUploads, removeOldFiles, reportCancelled, reserveDisk, sweepFiles } from '@sluice/imports'
import { dueMails } from '@sluice/mail'
import { dispatch, enqueueMails, enqueueNextMails } from './enqueue.ts'
import type { Host, Stop } from './host.ts'

/** How often the tables are searched for work that the queue does not know of, ms. */
const dispatchInterval = 1_000
const reportInterval = 1_000
const fileRemovalInterval = 10 * 60_000
const deletionInterval = 60_000
const silentCopyInterval = 5_000
const reserveInterval = 10 * 60_000

/** A queue store that forgot everything forgot the schedule too: it is written again this often, ms. */
const scheduleInterval = 10_000

const mailsPerPass = 1_000

/**
 * Runs maintenance: notices uploads and files that came past the S3 gateway, dispatches what waits, reports cancelled imports, removes
 * old files, runs deletions, ends what fell silent, reserves some of Postgres's disk. One worker at a time does each.
 * A stop ends every task: deletions after the batch in flight, requests to storage at once. The next worker does the rest.
 */
export function hostMaintenance(host: Host): Stop {
  const { queues, metrics } = host
  const shutdown = new AbortController()
  const context = { ...host.context, shutdown: shutdown.signal }
  const tasks: Record<string, { every: number; run: () => Promise<unknown> }> = {
    'notice-uploads': {
      every: context.settings.UPLOAD_CHECK_INTERVAL,
      run: async () => {
        const { queued, expired } = await noticeUploads(context)
        if (queued + expired > 0) await dispatch(host)
      },
    },
    dispatch: {
      every: dispatchInterval,
      run: async () => {
        await dispatch(host)
        await enqueueMails(host, await dueMails(context.db, mailsPerPass))
      },
    },
    'report-cancelled': {
      every: reportInterval,
      run: async () => await enqueueNextMails(host, await reportCancelled(context)),
    },
    'import-unannounced-files': {
      every: context.settings.S3_GATEWAY_SEARCH_INTERVAL,
      run: async () => {
        const { taken, mails } = await importUnannouncedFiles(context)
        await enqueueNextMails(host, mails)
        if (taken > 0) await dispatch(host)
      },
    },
    'remove-abandoned-uploads': { every: fileRemovalInterval, run: () => removeAbandonedUploads(context) },
    'remove-files': { every: fileRemovalInterval, run: () => removeOldFiles(context) },
    'sweep-files': { every: fileRemovalInterval, run: () => sweepFiles(context) },
    'forget-deleted-users': { every: fileRemovalInterval, run: () => forgetDeletedUsers(context) },
    'reserve-disk': { every: reserveInterval, run: () => reserveDisk(context.db) },
    'end-silent-copies': {
      every: silentCopyInterval,
      run: async () => {
        const ended = await endStaleCopies(context.db)
        if (ended > 0) context.log.warn({ ended }, 'transactions ended: whoever sent their rows fell silent')
      },
    },
    'run-deletions': {
      every: deletionInterval,
      run: async () => {
        const now = await currentTime(context.db)
        const { mails, completed, usersDeleted } = await runDeletions(context, now)
        metrics.deleted(completed, usersDeleted)
        await enqueueNextMails(host, mails)
      },
    },
  }
  const schedule = () => {
    const schedules = Object.entries(tasks).map(([task, { every }]) => queues.schedule(task, every))
    Promise.all(schedules).catch((error: unknown) => context.log.warn({ err: error }, 'maintenance not scheduled'))
  }
  schedule()
  const timer = setInterval(schedule, scheduleInterval)
  // Slow storage must not keep imports and mails from being dispatched: tasks run side by side, each once at a time.
  const running = new Set<string>()
  const run = async (task: string) => {
    if (running.has(task) || shutdown.signal.aborted) return
    running.add(task)
    const began = performance.now()
    let outcome: 'done' | 'failed' = 'failed'
    try {
      await tasks[task]?.run()
      outcome = 'done'
    } finally {
      running.delete(task)
      metrics.maintenanceRan(task, outcome, performance.now() - began)
    }
  }
  queues.work('maintenance', (_, task) => run(task), { concurrency: Object.keys(tasks).length })
  return () => {
    clearInterval(timer)
    shutdown.abort()
  }
}
