import type { SharedStore } from '@sluice/config'
import { openRedis } from '@sluice/redis'
import { queueTelemetry } from '@sluice/traces'
import {
  createPostgresBackend,
  createRedisBackend,
  type JobsOptions,
  type Processor,
  runMigrations,
  type WorkerOptions,
  withBackend,
} from 'bullmq'
import pg from 'pg'

/** Makes BullMQ's queues and workers on one store; the rest of this room does not know which. */
export interface Backend {
  queue(name: string): OpenQueue
  worker(name: string, processor: Processor, options: Omit<WorkerOptions, 'connection'>): OpenWorker
}

/** What this room uses of BullMQ's Queue, whatever its backend. */
export interface OpenQueue {
  addBulk(jobs: { name: string; data: unknown; opts: JobsOptions }[]): Promise<unknown>
  upsertJobScheduler(
    id: string,
    repeat: { every: number },
    template: { name: string; data: unknown; opts: Omit<JobsOptions, 'jobId'> },
  ): Promise<unknown>
  /** Counts by state, of all or of some; rejects where the store is away. */
  getJobCounts(...states: 'waiting'[]): Promise<Record<string, number>>
  /** The queue in Prometheus's text format. */
  exportPrometheusMetrics(): Promise<string>
  on(event: 'error', listener: (error: Error) => void): unknown
  /** Rejects, and does so for good, where Postgres is away when the queue is made; with Redis it waits. */
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}

/** What this room uses of BullMQ's Worker, whatever its backend. */
interface OpenWorker {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'failed', listener: (job: unknown, error: Error) => void): unknown
  /** As that of a queue. */
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}

const schema = 'bullmq'

/** A store that owes an answer for so long is taken for dead, and connected to anew, ms. */
const silence = 20_000

/** The hash tag keeps all keys of the queues in one slot of a Redis Cluster. */
const prefix = '{sluice}'

/** Gives the backend of a store. Connections open when a queue or worker is made, and close with it. */
export function openBackend(store: SharedStore): Backend {
  return 'redisUrl' in store ? redisBackend(store.redisUrl) : postgresBackend(store.databaseUrl)
}

function redisBackend(url: string): Backend {
  const { Queue, Worker } = withBackend(createRedisBackend)
  // A producer fails at once while Redis is away (the maintenance enqueues again); a worker waits for it as long as it takes.
  const connect = (retries: number | null) => openRedis(url, { retries, queued: true, silence, longestPause: 2_000 })
  return {
    queue(name) {
      const connection = connect(1)
      return closingWith(new Queue(name, { ...traced(), prefix, connection }), connection)
    },
    worker(name, processor, options) {
      const connection = connect(null)
      return closingWith(new Worker(name, processor, { ...options, ...traced(), prefix, connection }), connection)
    },
  }
}

/** BullMQ's option for traces, where they are made. */
function traced() {
  const telemetry = queueTelemetry()
  return telemetry === undefined ? {} : { telemetry }
}

/** BullMQ leaves a connection open that it was given, so whoever made it ends it. */
function closingWith<Closable extends { close(force?: boolean): Promise<void> }>(
  closable: Closable,
  connection: ReturnType<typeof openRedis>,
) {
  const close = closable.close.bind(closable)
  closable.close = async (force) => {
    await close(force)
    connection.disconnect()
  }
  return closable
}

function postgresBackend(databaseUrl: string): Backend {
  const { Queue, Worker } = withBackend(createPostgresBackend)
  // A crash may lose the queue's last milliseconds: maintenance enqueues again what the tables of the service say is waiting.
  const connection = {
    connectionString: databaseUrl,
    schema,
    max: 3,
    connectionTimeoutMillis: 10_000,
    query_timeout: silence,
    keepAlive: true,
    application_name: 'sluice queue',
    options: '-c synchronous_commit=off',
  }
  return {
    queue: (name) => new Queue(name, { ...traced(), connection }),
    worker: (name, processor, options) => new Worker(name, processor, { ...options, ...traced(), connection }),
  }
}

/** Makes the tables of the Postgres backend or brings them up to date; on Redis there is nothing to do. */
export async function migrateQueue(store: SharedStore): Promise<void> {
  if ('redisUrl' in store) return
  const client = new pg.Client({ connectionString: store.databaseUrl })
  await client.connect()
  try {
    await runMigrations(client, schema)
  } finally {
    await client.end()
  }
}
