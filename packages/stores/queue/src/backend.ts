import { queueNames, type RedisStore, type SharedStore } from '@sluice/config'
import { openPool } from '@sluice/database'
import { openRedis } from '@sluice/redis'
import { queueTelemetry } from '@sluice/traces'
import {
  createPostgresBackend,
  createRedisBackend,
  type JobState,
  type JobsOptions,
  type PostgresConnectionOptions,
  type PostgresPoolConfig,
  type Processor,
  runMigrations,
  type WorkerOptions,
  withBackend,
} from 'bullmq'
import { closeHalfOpenListeners } from './half-open.ts'

/** Creates BullMQ's queues and workers on one store. The rest of this package does not know which store it is. */
export interface Backend {
  queue(name: string): OpenQueue
  worker(name: string, processor: Processor, options: Omit<WorkerOptions, 'connection'>): OpenWorker
}

/** The parts of BullMQ's Queue that this package uses, on either backend. */
export interface OpenQueue {
  addBulk(jobs: { name: string; data: unknown; opts: JobsOptions }[]): Promise<unknown>
  upsertJobScheduler(
    id: string,
    repeat: { every: number },
    template: { name: string; data: unknown; opts: Omit<JobsOptions, 'jobId'> },
  ): Promise<{ opts: { delay?: number } } | undefined>
  removeJobScheduler(id: string): Promise<unknown>
  /** Counts jobs by state, in all states or in the given ones. Rejects if the store is unreachable. */
  getJobCounts(...states: JobState[]): Promise<Record<string, number>>
  /** Counts waiting jobs by priority, for {@link countWaitingJobs}. */
  getCountsPerPriority(priorities: number[]): Promise<Record<string, number>>
  /** Returns the jobs in a state from place `start` to place `end`, both included. */
  getJobs(state: JobState, start: number, end: number, isOldestFirst: boolean): Promise<OpenJob[]>
  /** Returns the state of a job, or `unknown`. */
  getJobState(id: string): Promise<string>
  isPaused(): Promise<boolean>
  pause(): Promise<void>
  resume(): Promise<void>
  /** Removes a job. Returns 0 if it is running. */
  remove(id: string): Promise<number>
  /** Returns the queue's metrics in Prometheus's text format. */
  exportPrometheusMetrics(): Promise<string>
  on(event: 'error', listener: (error: Error) => void): unknown
  /** Waits for Redis. Rejects, on every call, if Postgres was unreachable when the queue was created. */
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}

/** The parts of BullMQ's Job that this package uses. */
interface OpenJob {
  id?: string
  name: string
  data: unknown
  /** When the job was added, ms since the epoch. */
  timestamp: number
  /** When a worker started the job, ms since the epoch. */
  processedOn?: number
}

/** The parts of BullMQ's Worker that this package uses, on either backend. */
interface OpenWorker {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'failed', listener: (job: unknown, error: Error) => void): unknown
  /** Behaves like the method of {@link OpenQueue}. */
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}

/** The priority of all jobs: Sluice sets none. */
const noPriority = 0

/**
 * Returns how many jobs of a queue wait for a worker, also while the queue is paused: then `getJobCounts` counts none
 * of them on Postgres.
 */
export async function countWaitingJobs(queue: Pick<OpenQueue, 'getCountsPerPriority'>): Promise<number> {
  return (await queue.getCountsPerPriority([noPriority]))[noPriority] ?? 0
}

const schema = 'bullmq'

/** A store that leaves a command unanswered for this long counts as dead, and a new connection is opened. */
const responseTimeoutMs = 20_000

/** The hash tag keeps all keys of the queues in one slot of a Redis Cluster. */
const hashTag = '{sluice}'

/**
 * Returns the backend of a store (design.md §1, Technology). Connections open when a queue or worker is created, and
 * close with it.
 */
export function openBackend(store: SharedStore): Backend {
  return 'redisUrl' in store ? redisBackend(store) : postgresBackend(store.databaseUrl)
}

function redisBackend(store: RedisStore): Backend {
  const { Queue, Worker } = withBackend(createRedisBackend)
  // While Redis is unreachable, a producer fails at once, since maintenance enqueues the jobs again. A worker waits for
  // Redis.
  const connect = (retries: number | null) =>
    openRedis(store, { retries, queued: true, responseTimeoutMs, longestPauseMs: 2_000 })
  // second-day.md §7, Redis.
  const prefix = `${store.keyPrefix ?? ''}${hashTag}`
  return {
    queue(name) {
      const connection = connect(1)
      return closingWith(new Queue(name, { ...traced(), prefix, connection }), () => connection.disconnect())
    },
    worker(name, processor, options) {
      const connection = connect(null)
      let wasReady = false
      connection.once('ready', () => {
        wasReady = true
      })
      const worker = new Worker(name, processor, { ...options, ...traced(), prefix, connection })
      return closingWith(
        worker,
        () => connection.disconnect(),
        () => wasReady,
      )
    },
  }
}

/** Returns BullMQ's option for traces; empty if traces are off. */
function traced() {
  const telemetry = queueTelemetry()
  return telemetry === undefined ? {} : { telemetry }
}

/**
 * Makes `close` also call `end`, which closes or releases the connection. BullMQ closes only connections that it opened
 * itself. It waits for a connection before it closes, so a connection that was never ready is ended first.
 */
function closingWith<Closable extends { close(force?: boolean): Promise<void> }>(
  closable: Closable,
  end: () => unknown,
  wasReady = () => true,
) {
  const close = closable.close.bind(closable)
  const closeAndEnd = async (force?: boolean) => {
    const isForced = !wasReady()
    if (isForced) await end()
    await close(force || isForced)
    await end()
  }
  let closing: Promise<void> | undefined
  closable.close = (force) => {
    closing ??= closeAndEnd(force)
    return closing
  }
  return closable
}

function postgresBackend(databaseUrl: string): Backend {
  const { Queue, Worker } = withBackend(createPostgresBackend)
  // All queues of a process share three connections for commands. Each worker needs a further connection, which listens
  // for new jobs. The types of pg and BullMQ differ only in their listeners, so the assertion is safe.
  const open = () => {
    const opened = openPool(databaseUrl, {
      max: 3 + queueNames.length,
      connectionTimeoutMillis: 10_000,
      query_timeout: responseTimeoutMs,
      keepAlive: true,
      application_name: 'sluice queue',
      // Without synchronous commits, a crash may lose the queue's last milliseconds. Maintenance enqueues the lost jobs
      // again.
      settings: { search_path: schema, synchronous_commit: 'off' },
    })
    // Each queue and worker on the pool adds a listener, more than the ten of which Node warns.
    opened.setMaxListeners(0)
    closeHalfOpenListeners(opened, responseTimeoutMs)
    return opened as unknown as Exclude<PostgresConnectionOptions, string | PostgresPoolConfig>
  }
  let pool: ReturnType<typeof open> | undefined
  let users = 0
  const connect = () => {
    pool ??= open()
    users++
    return pool
  }
  const release = async () => {
    const last = pool
    if (--users > 0) return
    pool = undefined
    await last?.end()
  }
  return {
    queue: (name) => closingWith(new Queue(name, { ...traced(), connection: connect() }), release),
    worker(name, processor, options) {
      const worker = new Worker(name, processor, { ...options, ...traced(), connection: connect() })
      return closingWith(worker, release)
    },
  }
}

/** Creates the tables of the Postgres backend, or brings them up to date. Does nothing on Redis. */
export async function migrateQueue(store: SharedStore): Promise<void> {
  if ('redisUrl' in store) return
  const pool = openPool(store.databaseUrl, { max: 1 })
  try {
    const client = await pool.connect()
    await runMigrations(client, schema).finally(() => client.release())
  } finally {
    await pool.end()
  }
}
