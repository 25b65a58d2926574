export { flushTraces, inImportTrace, nameRoute, queueTelemetry, traceIds } from './tracing.ts'
