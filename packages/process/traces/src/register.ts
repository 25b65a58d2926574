// Starts tracing if OTEL_EXPORTER_OTLP_ENDPOINT is set. Without the variable, OpenTelemetry's SDK is not loaded at all.
// This module must be preloaded, because libraries are instrumented when they are loaded:
//
//   node --import ./packages/process/traces/src/register.ts apps/api/src/main.ts
if (process.env.OTEL_EXPORTER_OTLP_ENDPOINT) {
  const { startTracing } = await import('./open.ts')
  startTracing()
}
