import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What a process tells Prometheus. Labels have few values: never an app, a user or an address. */
export interface Metrics {
  registry: Registry
  /** What others put into words for Prometheus themselves, such as the queue; asked at each look. */
  readonly others: (() => Promise<string>)[]
}

/** Metrics that hold nothing yet. */
export function openMetrics(): Metrics {
  return { registry: new Registry(), others: [] }
}

/** What Node tells of itself: CPU, memory, the event loop's lag, garbage collection. Once for each process. */
export function collectProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry })
}

/** Requests take milliseconds; a file in the body takes as long as its sender does, s. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600]

/** Counts the requests of a process, and how long they took, s. A route is a pattern, `none` for unknown paths. */
export function requestHistogram({ registry }: Metrics): Histogram<'method' | 'route' | 'status'> {
  return new Histogram({
    name: 'sluice_http_request_duration_seconds',
    help: 'Requests by method, route and status, and how long they took',
    labelNames: ['method', 'route', 'status'],
    buckets: requestBuckets,
    registers: [registry],
  })
}

/** Shows the use of a pool of Postgres connections: open, idle, and queries that wait for one. */
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

/** Everything in Prometheus's text format. What cannot be asked at the moment is left out, and the rest stands. */
export async function exposition({ registry, others }: Metrics): Promise<string> {
  const texts = await Promise.allSettled([registry.metrics(), ...others.map((each) => each())])
  return texts.map((outcome) => (outcome.status === 'fulfilled' ? `${outcome.value.trimEnd()}\n` : '')).join('')
}
