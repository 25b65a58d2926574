import { setTimeout as delay } from 'node:timers/promises'
import { queueNames, type SharedStore } from '@sluice/config'
import { ErrorCode } from 'bullmq'
import { type Backend, type OpenQueue, openBackend } from './backend.ts'
import type { Payloads, QueueName } from './payloads.ts'

/** A job to add. The same ID is not added again while the first one waits or runs. */
export interface NewJob<Name extends QueueName> {
  id: string
  payload: Payloads[Name]
}

/** The producing side and the workers of all queues of a process. */
export interface Queues {
  /** Adds jobs. Throws when the store is away: nothing is lost then, since maintenance adds them again. */
  add<Name extends QueueName>(name: Name, jobs: readonly NewJob<Name>[]): Promise<void>
  /** How many jobs of a queue no worker has taken. Throws when the store is away. */
  waiting(name: QueueName): Promise<number>
  /** Has one process at a time run the maintenance queue's job `task` every `every` ms. Calling it again changes nothing. */
  schedule(task: string, every: number): Promise<void>
  /** Runs jobs of a queue, at most `concurrency` at a time. The handler gets the job's name and payload. */
  work<Name extends QueueName>(name: Name, handler: JobHandler<Name>, options: { concurrency: number }): void
  /** Settles when the store answers, and rejects when it is away. */
  check(): Promise<void>
  /** How many jobs each queue holds, by state, in Prometheus's text format. Rejects when the store is away. */
  metrics(): Promise<string>
  /** Takes no more jobs, waits for those that run, and ends every connection. */
  close(): Promise<void>
}

export type JobHandler<Name extends QueueName> = (payload: Payloads[Name], jobName: string) => Promise<void>

/** A dead worker's job goes to another one after 10 to 12 s. All workers of a queue must use the same two values. */
const lockDuration = 10_000
const stalledInterval = 2_000

/** Pause before a worker whose store was away is opened again, ms. */
const reopenDelay = 1_000

/** Of several that set a schedule at one moment one may find its next two times taken: then it is set. */
const isScheduledCodes: readonly unknown[] = [ErrorCode.SchedulerJobSlotsBusy, ErrorCode.SchedulerJobIdCollision]

function unlessScheduled(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && isScheduledCodes.includes(error.code))) throw error
}

/** The tables decide what is tried again and when, so a job is tried once and then forgotten. */
const jobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true }

/**
 * Opens the queues on a store.
 *
 * Takes the store and what to do with errors of connections and jobs (they are logged; nothing else depends on them).
 */
export function openQueues(store: SharedStore, onError: (error: Error) => void): Queues {
  const backend = openBackend(store)
  const queues = new Map<QueueName, OpenQueue>()
  const workers = new Set<{ close(): Promise<void> }>()
  let closing = false

  const queue = (name: QueueName) => {
    const open = queues.get(name) ?? openQueue(backend, name, onError)
    queues.set(name, open)
    return open
  }

  // A queue that was opened while its store was away keeps that failure for good: the next use opens another one.
  const use = async (name: QueueName, job: (open: OpenQueue) => Promise<unknown>) => {
    const open = queue(name)
    try {
      await job(open)
    } catch (error) {
      open.waitUntilReady().catch(() => {
        if (queues.get(name) === open) queues.delete(name)
        open.close().catch(() => {})
      })
      throw error
    }
  }

  return {
    async add(name, jobs) {
      if (jobs.length === 0) return
      const bulk = jobs.map(({ id, payload }) => ({ name, data: payload, opts: { ...jobOptions, jobId: id } }))
      await use(name, (open) => open.addBulk(bulk))
    },
    async waiting(name) {
      let count = 0
      await use(name, async (open) => {
        count = (await open.getJobCounts('waiting')).waiting ?? 0
      })
      return count
    },
    async schedule(task, every) {
      await use('maintenance', (open) =>
        open.upsertJobScheduler(task, { every }, { name: task, data: {}, opts: jobOptions }).catch(unlessScheduled),
      )
    },
    work(name, handler, { concurrency }) {
      const start = () => {
        const worker = backend.worker(name, (job) => handler(job.data, job.name), {
          concurrency,
          lockDuration,
          stalledInterval,
          // Stalled jobs are no failures here: the handler asks the tables whether there is anything left to do.
          maxStalledCount: 1_000_000,
        })
        worker.on('error', onError)
        worker.on('failed', (_job, error) => onError(error))
        workers.add(worker)
        // One that was opened while its store was away never takes a job: another one is opened in its place.
        worker.waitUntilReady().catch(async () => {
          await worker.close().catch(() => {})
          workers.delete(worker)
          await delay(reopenDelay)
          if (!closing) start()
        })
      }
      start()
    },
    check: () => use('imports', (open) => open.getJobCounts()),
    async metrics() {
      const texts: string[] = []
      for (const name of queueNames) await use(name, async (open) => texts.push(await open.exportPrometheusMetrics()))
      return mergeExpositions(texts)
    },
    async close() {
      closing = true
      await Promise.all([...workers].map((worker) => worker.close()))
      await Promise.all([...queues.values()].map((open) => open.close()))
    },
  }
}

/** One text from one of each queue: the format wants all values of a metric behind its one description. */
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

function openQueue(backend: Backend, name: QueueName, onError: (error: Error) => void): OpenQueue {
  const queue = backend.queue(name)
  queue.on('error', onError)
  return queue
}
