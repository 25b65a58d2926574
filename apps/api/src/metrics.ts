import type { FastifyInstance } from 'fastify'
import { Counter, Registry } from 'prom-client'

/** What the API counts. */
export interface Metrics {
  registry: Registry
  /** Requests answered 429, by function. */
  limited: Counter<'function'>
  /** Requests that passed uncounted, since the store of the rate limits was away. */
  uncounted: Counter
}

/** Counters of one API process, all zero. */
export function openMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  return {
    registry,
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
export function metricsRoutes(api: FastifyInstance, { registry }: Metrics): void {
  api.get('/metrics', async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()))
}
