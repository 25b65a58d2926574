import { queueNames, type SharedStore } from '@sluice/config'
import { countWaitingJobs, openBackend } from './backend.ts'
import type { QueueName } from './payloads.ts'
import { openProducers } from './producers.ts'

/** The states in which jobs are kept. A job that has ended is forgotten. */
export const jobStates = ['active', 'waiting', 'delayed'] as const

export type JobState = (typeof jobStates)[number]

/** A queue as operators see it. */
export interface QueueView {
  name: QueueName
  /** While a queue is paused, workers start none of its jobs. */
  isPaused: boolean
  jobs: Record<JobState, number>
}

/** A job as operators see it. */
export interface JobView {
  id: string
  name: string
  payload: unknown
  addedAt: Date
  /** Undefined if no worker has started the job. */
  startedAt: Date | undefined
}

/** What operators can see and do about the queues. All methods throw if the store is unreachable. */
export interface QueueInspector {
  queues(): Promise<QueueView[]>
  /**
   * Returns jobs of a queue in a state from the given place on. Delayed jobs are in the order of the times when they
   * are due. Other jobs are listed newest first.
   */
  jobs(name: QueueName, state: JobState, range: { from: number; limit: number }): Promise<JobView[]>
  /** Returns whether the queue was not paused before. */
  pause(name: QueueName): Promise<boolean>
  /** Returns whether the queue was paused before. */
  resume(name: QueueName): Promise<boolean>
  /** Removes a job that waits. Returns false if it is gone or has started. */
  remove(name: QueueName, id: string): Promise<boolean>
  close(): Promise<void>
}

/** Opens the queues for operators. Each queue opens at its first use. `onError` receives errors of connections. */
export function openInspector(store: SharedStore, onError: (error: Error) => void): QueueInspector {
  const { use, close } = openProducers(openBackend(store), onError)

  const view = (name: QueueName) =>
    use(name, async (queue): Promise<QueueView> => {
      const [isPaused, counts, waiting] = await Promise.all([
        queue.isPaused(),
        queue.getJobCounts('active', 'delayed'),
        countWaitingJobs(queue),
      ])
      const { active = 0, delayed = 0 } = counts
      return { name, isPaused, jobs: { active, waiting, delayed } }
    })

  return {
    queues: () => Promise.all(queueNames.map(view)),
    jobs: (name, state, { from, limit }) =>
      use(name, async (queue) => {
        // On Postgres, BullMQ returns the right page of waiting or active jobs only if the newest job comes first.
        const found = await queue.getJobs(state, from, from + limit - 1, state === 'delayed')
        return found.map(({ id, name, data, timestamp, processedOn }) => ({
          id: id ?? '',
          name,
          payload: data,
          addedAt: new Date(timestamp),
          startedAt: processedOn ? new Date(processedOn) : undefined,
        }))
      }),
    pause: (name) =>
      use(name, async (queue) => {
        const wasPaused = await queue.isPaused()
        await queue.pause()
        return !wasPaused
      }),
    resume: (name) =>
      use(name, async (queue) => {
        const wasPaused = await queue.isPaused()
        await queue.resume()
        return wasPaused
      }),
    remove: (name, id) =>
      use(name, async (queue) => {
        // On Redis, `remove` also returns 1 for a job that is gone, so the state is checked first.
        if ((await queue.getJobState(id)) !== 'waiting') return false
        return (await queue.remove(id)) === 1
      }),
    close,
  }
}
