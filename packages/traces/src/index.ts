export { flushTraces, inImportTrace, queueTelemetry, traceIds } from './tracing.ts'
