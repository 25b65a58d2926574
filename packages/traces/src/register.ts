// node --import ./packages/traces/src/register.ts apps/api/src/main.ts: makes traces where OTEL_EXPORTER_OTLP_ENDPOINT is set.
// It has to run before everything else, since libraries are instrumented while they are loaded. Without the variable
// nothing of OpenTelemetry's SDK is loaded.
if (process.env.OTEL_EXPORTER_OTLP_ENDPOINT) {
  const { startTracing } = await import('./open.ts')
  startTracing()
}
