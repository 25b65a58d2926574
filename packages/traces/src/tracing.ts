import type { Telemetry } from 'bullmq'

/** What traces are made with, once a process was started with `register.ts`. */
export interface Tracing {
  inImportTrace<Result>(name: string, importId: string, job: () => Promise<Result>): Promise<Result>
  traceIds(): Record<string, string>
  nameRoute(route: string): void
  /** For BullMQ's own option `telemetry`. */
  queueTelemetry: Telemetry
  flush(): Promise<void>
}

let tracing: Tracing | undefined

/** From now on traces are made; before that, and where it is never called, everything here costs a comparison. */
export function useTracing(made: Tracing): void {
  tracing = made
}

/**
 * Runs a job as a span of an import's trace, whose trace ID is the import's ID without dashes: all processes that work on the
 * import write into the one trace, whatever carries it from one to the next. What goes on already is linked to it.
 *
 * Takes the span's name. Gives what the job gives; what it throws is noted, and passes through.
 */
export function inImportTrace<Result>(name: string, importId: string, job: () => Promise<Result>): Promise<Result> {
  return tracing === undefined ? job() : tracing.inImportTrace(name, importId, job)
}

/** `trace_id` and `span_id` of what goes on, for the log; nothing where that is no part of a trace. */
export function traceIds(): Record<string, string> {
  return tracing === undefined ? {} : tracing.traceIds()
}

/** Names the span of the HTTP request in hand after its route, such as `/sign-in/:secret`. */
export function nameRoute(route: string): void {
  tracing?.nameRoute(route)
}

/** What BullMQ tells of its jobs' way; undefined where no traces are made. */
export function queueTelemetry(): Telemetry | undefined {
  return tracing?.queueTelemetry
}

/** Sends what was not sent yet, for a process that ends. */
export async function flushTraces(): Promise<void> {
  await tracing?.flush()
}
