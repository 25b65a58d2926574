import { setTimeout as delay } from 'node:timers/promises'
import { queueNames, type SharedStore } from '@sluice/config'
import { ErrorCode } from 'bullmq'
import { type Backend, countWaitingJobs, type OpenQueue, openBackend } from './backend.ts'
import type { Payloads, QueueName } from './payloads.ts'
import { openProducers } from './producers.ts'

/** A job to add. It is not added while another job with the same ID waits or runs. */
export interface NewJob<Name extends QueueName> {
  id: string
  payload: Payloads[Name]
}

/** The producers and workers of all queues of a process. */
export interface Queues {
  /** Adds jobs. Throws if the store is unreachable. Nothing is lost then, since maintenance adds the jobs again. */
  add<Name extends QueueName>(name: Name, jobs: readonly NewJob<Name>[]): Promise<void>
  /** Returns how many jobs of a queue wait for a worker, also if it is paused. Throws if the store is unreachable. */
  waiting(name: QueueName): Promise<number>
  /**
   * Schedules the job `task` of the maintenance queue. One process at a time runs it. Repeated calls change nothing,
   * unless a process whose clock was ahead has set the next run too late.
   */
  schedule(task: string, everyMs: number): Promise<void>
  /** Runs jobs of a queue, at most `concurrency` at a time. The handler receives the payload and name of a job. */
  work<Name extends QueueName>(name: Name, handler: JobHandler<Name>, options: { concurrency: number }): void
  /** Resolves if the store answers. Rejects with the reason if it is unreachable. */
  check(): Promise<void>
  /** Returns each queue's number of jobs by state, in Prometheus's text format. Rejects if the store is unreachable. */
  metrics(): Promise<string>
  /** Starts no more jobs, waits for the running jobs, and ends every connection. */
  close(): Promise<void>
}

export type JobHandler<Name extends QueueName> = (payload: Payloads[Name], jobName: string) => Promise<void>

/**
 * Another worker takes over a dead worker's job after 10 to 15 s. All workers of a queue must use the same two values.
 */
const lockDurationMs = 10_000
const stalledIntervalMs = 5_000

/**
 * An idle worker looks for jobs this often, s, although a new job wakes it. The call that wakes a worker is lost if the
 * worker dies at that moment. With 100 workers, these calls are most of what Redis does. The interval is shorter than
 * the time after which a call without an answer ends its connection.
 */
const drainDelaySeconds = 15

/** How long a check waits for a connection that is known to be broken, ms. */
const connectMs = 1_000

/** Pause before a worker is opened again after its store was unreachable. */
const reopenDelayMs = 1_000

/**
 * The errors of BullMQ if two processes write a schedule at the same moment, and that of Postgres if it ends one of the
 * two as a deadlock. The schedule exists afterwards.
 */
const alreadyScheduledCodes: readonly unknown[] = [
  ErrorCode.SchedulerJobSlotsBusy,
  ErrorCode.SchedulerJobIdCollision,
  '40P01',
]

function ignoreAlreadyScheduled(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && alreadyScheduledCodes.includes(error.code))) throw error
}

/** A job is tried once and then forgotten: the tables decide what is tried again, and when. */
const jobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true }

/**
 * Returns whether an error says that a scheduled job was written anew while it ran. This happens if a process sets the
 * schedule at that moment. The job has done its work, and its successor is scheduled.
 */
function isRescheduledJob(error: Error): boolean {
  return 'code' in error && error.code === ErrorCode.JobNotInState && error.message.includes(' repeat:')
}

/** Opens the queues on a store. `onError` receives the errors of connections and jobs. */
export function openQueues(store: SharedStore, onError: (error: Error) => void): Queues {
  const backend = openBackend(store)
  let disconnected: Error | undefined
  const producers = openProducers(backend, (error) => {
    disconnected = error
    onError(error)
  })
  const workers = openWorkers(backend, onError)
  const use: typeof producers.use = async (name, job) => {
    const result = await producers.use(name, job)
    disconnected = undefined
    return result
  }
  return {
    async add(name, jobs) {
      if (jobs.length === 0) return
      const bulk = jobs.map(({ id, payload }) => ({ name, data: payload, opts: { ...jobOptions, jobId: id } }))
      await use(name, (queue) => queue.addBulk(bulk))
    },
    waiting: (name) => use(name, countWaitingJobs),
    async schedule(task, everyMs) {
      await use('maintenance', (queue) => schedule(queue, task, everyMs).catch(ignoreAlreadyScheduled))
    },
    work: (name, handler, { concurrency }) => workers.start(name, handler, concurrency),
    async check() {
      const answered = use('imports', (queue) => queue.getJobCounts())
      // Without a connection, a call waits, or fails with an error that does not say why.
      const waited = delay(connectMs, undefined, { ref: false }).then(() => {
        if (disconnected !== undefined) throw disconnected
        return answered
      })
      try {
        await Promise.race([answered, waited])
      } catch (error) {
        throw disconnected ?? error
      }
    },
    async metrics() {
      const texts: string[] = []
      for (const name of queueNames) texts.push(await use(name, (queue) => queue.exportPrometheusMetrics()))
      return mergeExpositions(texts)
    },
    async close() {
      await workers.close()
      await producers.close()
    },
  }
}

/**
 * How much later than one interval the next run may be, ms. BullMQ computes it by the clock of the worker that ran the
 * preceding one, and keeps it when the schedule is set again.
 */
const clockSlackMs = 60_000

/** Sets a schedule, and sets it anew if its next run is too late. */
async function schedule(queue: OpenQueue, task: string, everyMs: number): Promise<void> {
  const set = () => queue.upsertJobScheduler(task, { every: everyMs }, { name: task, data: {}, opts: jobOptions })
  const { delay = 0 } = (await set())?.opts ?? {}
  if (delay <= everyMs + clockSlackMs) return
  await queue.removeJobScheduler(task)
  await set()
}

function openWorkers(backend: Backend, onError: (error: Error) => void) {
  const workers = new Set<{ close(): Promise<void> }>()
  let closing = false

  function start<Name extends QueueName>(name: Name, handler: JobHandler<Name>, concurrency: number): void {
    const worker = backend.worker(name, (job) => handler(job.data, job.name), {
      concurrency,
      lockDuration: lockDurationMs,
      stalledInterval: stalledIntervalMs,
      drainDelay: drainDelaySeconds,
      // A stalled job is not a failure: its handler reads from the tables whether anything is left to do.
      maxStalledCount: 1_000_000,
    })
    worker.on('error', (error) => {
      if (!isRescheduledJob(error)) onError(error)
    })
    worker.on('failed', (_job, error) => onError(error))
    workers.add(worker)
    // A worker that was opened while its store was unreachable never takes a job. A new worker replaces it.
    worker.waitUntilReady().catch(async () => {
      await worker.close().catch(() => {})
      workers.delete(worker)
      await delay(reopenDelayMs)
      if (!closing) start(name, handler, concurrency)
    })
  }

  return {
    start,
    async close() {
      closing = true
      await Promise.all([...workers].map((worker) => worker.close()))
    },
  }
}

/**
 * Merges the metrics of all queues into one text. The format requires one description per metric, directly before all
 * of the metric's values.
 */
function mergeExpositions(texts: readonly string[]): string {
  const metrics = new Map<string, { description: string[]; values: string[] }>()
  for (const line of texts.join('\n').split('\n')) {
    const [, name = ''] = /^(?:# (?:HELP|TYPE) )?(\w+)/.exec(line) ?? []
    const metric = metrics.get(name) ?? { description: [], values: [] }
    metrics.set(name, metric)
    if (!line.startsWith('#')) metric.values.push(line)
    else if (!metric.description.includes(line)) metric.description.push(line)
  }
  return [...metrics.values()].flatMap(({ description, values }) => [...description, ...values]).join('\n')
}
