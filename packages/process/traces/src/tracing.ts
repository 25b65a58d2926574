import type { Telemetry } from 'bullmq'

/** The functions that make traces, in a process that preloads `register.ts`. */
export interface Tracing {
  inImportTrace<Result>(name: string, importId: string, job: () => Promise<Result>): Promise<Result>
  traceIds(): Record<string, string>
  nameRoute(route: string): void
  /** For BullMQ's own option `telemetry`. */
  queueTelemetry: Telemetry
  flush(): Promise<void>
}

let tracing: Tracing | undefined

/**
 * Makes this module trace with the given functions. Before this call, every function of this module costs only a
 * comparison.
 */
export function setTracing(implementation: Tracing): void {
  tracing = implementation
}

/**
 * Runs a job as a span of an import's trace. The trace ID is the import's ID without dashes, so that all processes that
 * work on the import write into one trace. The current span is linked to the new one.
 *
 * Returns the job's result. Records an error of the job in the span, and rethrows it.
 */
export function inImportTrace<Result>(name: string, importId: string, job: () => Promise<Result>): Promise<Result> {
  return tracing === undefined ? job() : tracing.inImportTrace(name, importId, job)
}

/** Returns `trace_id` and `span_id` of the current span, for the log; an empty object outside of any trace. */
export function traceIds(): Record<string, string> {
  return tracing === undefined ? {} : tracing.traceIds()
}

/** Names the span of the current HTTP request after its route, such as `/sign-in/:secret`. */
export function nameRoute(route: string): void {
  tracing?.nameRoute(route)
}

/** Returns the telemetry that BullMQ reports its jobs to; undefined if tracing is off. */
export function queueTelemetry(): Telemetry | undefined {
  return tracing?.queueTelemetry
}

/** Sends all spans that have not been sent yet. A process calls it before it ends. */
export async function flushTraces(): Promise<void> {
  await tracing?.flush()
}
