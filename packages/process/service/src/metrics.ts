import { collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'

/** The metrics of a process for Prometheus. Labels have few values: never an app, a user or an address. */
export interface Metrics {
  registry: Registry
  /**
   * Functions that return further metrics in the text format of Prometheus, such as those of the queue. Called for each
   * scrape.
   */
  readonly others: (() => Promise<string>)[]
}

/** Opens metrics without any counters yet. */
export function openMetrics(): Metrics {
  return { registry: new Registry(), others: [] }
}

/** Collects the metrics of Node: CPU, memory, event loop lag, garbage collection. Must be called once per process. */
export function collectProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry })
}

/** Limits of the histogram's buckets, s. Most requests take milliseconds; a file takes as long as its sender needs. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600]

/** Opens a histogram of requests and their durations, s. The label `route` is a pattern; `none` for unknown paths. */
export function requestHistogram({ registry }: Metrics): Histogram<'method' | 'route' | 'status'> {
  return new Histogram({
    name: 'sluice_http_request_duration_seconds',
    help: 'Requests by method, route and status, and how long they took',
    labelNames: ['method', 'route', 'status'],
    buckets: requestBuckets,
    registers: [registry],
  })
}

/**
 * Adds a gauge of a pool of Postgres connections: open and idle connections, and queries that wait for a connection.
 */
export function countConnections(
  { registry }: Metrics,
  pool: { usage(): { open: number; idle: number; waiting: number } },
): void {
  new Gauge({
    name: 'sluice_database_connections',
    help: 'Postgres connections of this process that are open or idle, and queries that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(pool.usage())) this.set({ state }, count)
    },
  })
}

/** Returns all metrics in the text format of Prometheus. Leaves out metrics that are not available at the moment. */
export async function exposition({ registry, others }: Metrics): Promise<string> {
  const texts = await Promise.allSettled([registry.metrics(), ...others.map((each) => each())])
  return texts.map((outcome) => (outcome.status === 'fulfilled' ? `${outcome.value.trimEnd()}\n` : '')).join('')
}
