import type { Host, Stop } from './host.ts'
import { type MaintenanceTask, maintenanceTasks } from './maintenance-tasks.ts'

/** The schedule is written again this often, in case the queue's store lost it. */
const scheduleIntervalMs = 10_000

/** The tasks that are due at the same times. They share a job, because each job costs the store some 60 commands. */
interface Round {
  /** Names the job. */
  name: string
  everyMs: number
  tasks: readonly MaintenanceTask[]
}

/**
 * Runs the tasks of maintenance once this worker is one of the oldest three. Every host asks the store at each time at
 * which a task is due, which 100 workers together would do thousands of times a second. The stop aborts
 * `context.shutdown`: deletions end after the batch in flight, and requests to storage at once.
 */
export function hostMaintenance(host: Host): Stop {
  const shutdown = new AbortController()
  const stoppable = { ...host, context: { ...host.context, shutdown: shutdown.signal } }
  const rounds = roundsOf(host.context.settings)
  let stopSchedule = () => {}
  const running = new Set<string>()
  const runOnce = async (task: MaintenanceTask) => {
    if (running.has(task.name) || shutdown.signal.aborted) return
    running.add(task.name)
    await runTask(task, stoppable).catch(host.onJobError)
    running.delete(task.name)
  }
  const runRound = async (_: unknown, name: string) => {
    // During an upgrade, the other release may have scheduled a round that this release does not know.
    const tasks = rounds.find((each) => each.name === name)?.tasks ?? []
    // The tasks run side by side, and the next round does not wait for them: slow storage must not delay the dispatch
    // of imports and mails.
    await Promise.all(tasks.map(runOnce))
  }
  void host.heartbeat.untilMaintenanceHost().then(() => {
    if (shutdown.signal.aborted) return
    stopSchedule = keepScheduled(host, rounds)
    // Each task that takes long may keep a job of its own open.
    host.queues.work('maintenance', runRound, { concurrency: maintenanceTasks.length })
  })
  return () => {
    stopSchedule()
    shutdown.abort()
  }
}

function roundsOf(settings: Host['context']['settings']): Round[] {
  const byInterval = Map.groupBy(maintenanceTasks, ({ intervalMs }) => intervalMs(settings))
  return [...byInterval].map(([everyMs, tasks]) => ({ name: `every-${everyMs}-ms`, everyMs, tasks }))
}

/**
 * Writes the schedule of all rounds at once, and again every {@link scheduleIntervalMs}. Returns a function that stops
 * this.
 */
function keepScheduled({ context, queues }: Host, rounds: readonly Round[]): () => void {
  const schedule = () => {
    Promise.all(rounds.map(({ name, everyMs }) => queues.schedule(name, everyMs))).catch((error: unknown) =>
      context.log.warn({ err: error }, 'maintenance not scheduled'),
    )
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
