import { exposition, type Metrics, openMetrics } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import { Counter, Histogram } from 'prom-client'

/** What the API counts. */
export interface ApiMetrics {
  metrics: Metrics
  /** Seconds from a request's first byte to its answer's last, by method, route (`none` for unknown paths) and status. */
  requests: Histogram<'method' | 'route' | 'status'>
  /** Requests answered 429, by function. */
  limited: Counter<'function'>
  /** Requests that passed uncounted, since the store of the rate limits was away. */
  uncounted: Counter
}

/** Requests take milliseconds; a file in the body takes as long as its sender does, s. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600]

/** Counters of one API process, all zero, among the metrics of the process. */
export function openApiMetrics(metrics: Metrics = openMetrics()): ApiMetrics {
  const registers = [metrics.registry]
  return {
    metrics,
    requests: new Histogram({
      name: 'sluice_http_request_duration_seconds',
      help: 'Requests by method, route and status, and how long they took',
      labelNames: ['method', 'route', 'status'],
      buckets,
      registers,
    }),
    limited: new Counter({
      name: 'sluice_rate_limited_requests_total',
      help: 'Requests refused with 429, by function',
      labelNames: ['function'],
      registers,
    }),
    uncounted: new Counter({
      name: 'sluice_rate_limit_uncounted_requests_total',
      help: 'Requests let through without a count, since the store of the rate limits did not answer',
      registers,
    }),
  }
}

/** `/metrics` for Prometheus: counts only, nothing of any app. */
export function metricsRoutes(api: FastifyInstance, { metrics }: ApiMetrics): void {
  api.get('/metrics', async (_, reply) => reply.type(metrics.registry.contentType).send(await exposition(metrics)))
}
