import type { Host, Stop } from './host.ts'
import { type MaintenanceTask, maintenanceTasks } from './maintenance-tasks.ts'

/** The schedule is written again this often, in case the queue's store lost it. */
const scheduleIntervalMs = 10_000

/**
 * Runs the tasks of maintenance once this worker is one of the oldest three. Every host asks the store at each time at
 * which a task is due, which 100 workers together would do thousands of times a second. The stop aborts
 * `context.shutdown`: deletions end after the batch in flight, and requests to storage at once.
 */
export function hostMaintenance(host: Host): Stop {
  const shutdown = new AbortController()
  const stoppable = { ...host, context: { ...host.context, shutdown: shutdown.signal } }
  let stopSchedule = () => {}
  // The tasks run side by side: slow storage must not delay the dispatch of imports and mails.
  const running = new Set<string>()
  const runOnce = async (_: unknown, name: string) => {
    // During an upgrade, the other release may have scheduled a task that this release does not know.
    const task = maintenanceTasks.find((each) => each.name === name)
    if (task === undefined || running.has(name) || shutdown.signal.aborted) return
    running.add(name)
    try {
      await runTask(task, stoppable)
    } finally {
      running.delete(name)
    }
  }
  void host.heartbeat.untilMaintenanceHost().then(() => {
    if (shutdown.signal.aborted) return
    stopSchedule = keepScheduled(host)
    host.queues.work('maintenance', runOnce, { concurrency: maintenanceTasks.length })
  })
  return () => {
    stopSchedule()
    shutdown.abort()
  }
}

/**
 * Writes the schedule of all tasks at once, and again every {@link scheduleIntervalMs}. Returns a function that stops
 * this.
 */
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
