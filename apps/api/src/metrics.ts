import { Counter } from '@prometheus-io/client'
import { type Metrics, openMetrics, requestHistogram } from '@sluice/service'

export interface ApiMetrics {
  metrics: Metrics
  /**
   * Seconds from the first byte of a request to the last byte of its answer, by method, route (`none` for unknown
   * paths) and status.
   */
  requests: ReturnType<typeof requestHistogram>
  /** Requests answered 429, by function. */
  limited: Counter<'function'>
  /** Requests that only this process counted for the rate limits, because the limits' shared store did not answer. */
  uncounted: Counter
}

/** Opens the counters of an API process among the metrics of the process. */
export function openApiMetrics(metrics: Metrics = openMetrics()): ApiMetrics {
  const registers = [metrics.registry]
  return {
    metrics,
    requests: requestHistogram(metrics),
    limited: new Counter({
      name: 'sluice_rate_limited_requests_total',
      help: 'Requests refused with 429, by function',
      labelNames: ['function'],
      registers,
    }),
    uncounted: new Counter({
      name: 'sluice_rate_limit_uncounted_requests_total',
      help: 'Requests that a process counted alone, as the store of the rate limits did not answer',
      registers,
    }),
  }
}
