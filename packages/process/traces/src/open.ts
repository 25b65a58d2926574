import { type Context, context, propagation, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { getRPCMetadata, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { AwsInstrumentation } from '@opentelemetry/instrumentation-aws-sdk'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { BullMQOtel } from 'bullmq-otel'
import { register } from 'import-in-the-middle/register-hooks.mjs'
import { hideAddresses } from './hide-addresses.ts'
import { setTracing } from './tracing.ts'

/** Monitoring polls these paths every few seconds, and traces of these requests would be of no use. */
const untracedPaths = new Set(['/metrics', '/healthz', '/readyz'])

/**
 * The modules that instrumentations change. Without this list, every module is prepared for a change when it is loaded,
 * which takes longer than everything else that a process does at its start.
 */
const instrumented = ['http', 'https', /\/node_modules\/(?:pg|pg-pool|@smithy|@aws-sdk)\//]

/**
 * Starts tracing this process. OpenTelemetry instruments HTTP, Postgres and S3, BullMQ instruments the queue, and this
 * package instruments imports. Traces go to OTEL_EXPORTER_OTLP_ENDPOINT as OTLP over HTTP. Spans show statements
 * without their parameters, which hold users' data. Spans name routes and never URLs.
 */
export function startTracing(): void {
  register({ include: instrumented })
  const name =
    process.env.OTEL_SERVICE_NAME ?? `sluice-${/apps\/([\w-]+)\//.exec(process.argv[1] ?? '')?.[1] ?? 'process'}`
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': name }),
    spanProcessors: [hideAddresses, new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  registerInstrumentations({
    instrumentations: [
      new HttpInstrumentation({
        ignoreIncomingRequestHook: ({ url }) => untracedPaths.has(url?.split('?')[0] ?? ''),
      }),
      new PgInstrumentation({ requireParentSpan: true }),
      new AwsInstrumentation({ suppressInternalInstrumentation: true }),
    ],
  })
  setTracing({
    inImportTrace,
    traceIds() {
      const activeSpan = trace.getActiveSpan()?.spanContext()
      return activeSpan === undefined ? {} : { trace_id: activeSpan.traceId, span_id: activeSpan.spanId }
    },
    nameRoute(route) {
      const request = getRPCMetadata(context.active())
      if (request !== undefined) request.route = route
    },
    queueTelemetry: new BullMQOtel({ tracerName: 'sluice' }),
    flush: () => provider.forceFlush(),
  })
}

async function inImportTrace<Result>(name: string, importId: string, job: () => Promise<Result>): Promise<Result> {
  const activeSpan = trace.getActiveSpan()
  activeSpan?.setAttribute('sluice.import_id', importId)
  const links = activeSpan === undefined ? [] : [{ context: activeSpan.spanContext() }]
  const options = { links, attributes: { 'sluice.import_id': importId } }
  return await trace.getTracer('sluice').startActiveSpan(name, options, traceOf(importId), async (span) => {
    try {
      return await job()
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      span.setStatus({ code: SpanStatusCode.ERROR, message })
      throw error
    } finally {
      span.end()
    }
  })
}

/**
 * Returns the trace of an import as a context. New spans get a parent span that stands for the import. No process
 * records this parent span.
 */
function traceOf(importId: string): Context {
  const traceId = importId.replaceAll('-', '')
  const spanContext = { traceId, spanId: traceId.slice(0, 16), traceFlags: TraceFlags.SAMPLED, isRemote: true }
  return trace.setSpanContext(context.active(), spanContext)
}
