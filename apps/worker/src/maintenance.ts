import type { Host, Stop } from './host.ts'
import { type MaintenanceTask, maintenanceTasks } from './maintenance-tasks.ts'

/** The schedule is written again this often, in case the queue's store lost it. */
const scheduleIntervalMs = 10_000

/**
 * Runs the tasks of maintenance. The stop aborts `context.shutdown`: deletions end after the batch in flight, and requests
 * to storage at once.
 */
export function hostMaintenance(host: Host): Stop {
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
        const { imported, mails } = await importUnannouncedFiles(context)
        await enqueueNextMails(host, mails)
        if (imported > 0) await dispatch(host)
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
        const ended = await endSilentCopies(context.db)
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
  host.queues.work(
    'maintenance',
    async (_, name) => {
      // During an upgrade, the other release may have scheduled a task that this release does not know.
      const task = maintenanceTasks.find((each) => each.name === name)
      if (task === undefined || running.has(name) || shutdown.signal.aborted) return
      running.add(name)
      try {
        await runTask(task, stoppable)
      } finally {
        running.delete(name)
      }
    },
    { concurrency: maintenanceTasks.length },
  )
  return () => {
    stopSchedule()
    shutdown.abort()
  }
}

/** Writes the schedule of all tasks now and then again and again. Returns a function that ends this. */
function keepScheduled({ context, queues }: Host): () => void {
  const schedule = () => {
    const schedules = maintenanceTasks.map(({ name, intervalMs }) =>
      queues.schedule(name, intervalMs(context.settings)),
    )
    Promise.all(schedules).catch((error: unknown) => context.log.warn({ err: error }, 'maintenance not scheduled'))
  }
  schedule()
  const timer = setInterval(schedule, scheduleIntervalMs)
  return () => clearInterval(timer)
}

async function runTask(task: MaintenanceTask, host: Host): Promise<void> {
  const began = performance.now()
  let outcome: 'done' | 'failed' = 'failed'
  try {
    await task.run(host)
    outcome = 'done'
  } finally {
    host.metrics.maintenanceRan(task.name, outcome, performance.now() - began)
  }
}
