import { errors } from '@sluice/contract'
import { checkReadiness, exposition } from '@sluice/service'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal } from '../endpoint.ts'
import { etag, pageHeaders, sendDocument, sendPage } from '../openapi/served-document.ts'

const health = z.object({ status: z.enum(['ok', 'ready']) }).meta({ id: 'Health' })

/** The process runs. */
export const isLive = endpoint({
  id: 'isLive',
  route: 'GET /healthz',
  tag: 'Operation',
  summary: 'Check that the process runs',
  description: '',
  extension: true,
  isPublic: true,
  answer: { status: 200, description: 'The process runs.', schema: health, example: { status: 'ok' } },
  serve: () => async () => ({ status: 'ok' as const }),
})

/** The process can serve requests. The API adds no jobs, so it needs no queue. */
export const readiness = endpoint({
  id: 'isReady',
  route: 'GET /readyz',
  tag: 'Operation',
  summary: 'Check that the service can process requests',
  description: '',
  extension: true,
  isPublic: true,
  answer: {
    status: 200,
    description: 'The service can process requests.',
    schema: health,
    example: { status: 'ready' },
  },
  refusals: [refusal('unavailable', 'The database or storage cannot be reached.', errors.unavailable(['postgres']))],
  serve:
    ({ readiness }) =>
    async ({ request, reply }) => {
      const { isReady, awaited } = await checkReadiness(readiness, request.log)
      // Anybody may read this: it has neither addresses nor errors.
      return isReady ? { status: 'ready' as const } : answer(reply, errors.unavailable(awaited))
    },
})

/** Counts only, and no data of any app. */
export const metrics = endpoint({
  id: 'getMetrics',
  route: 'GET /metrics',
  tag: 'Operation',
  summary: 'Metrics for Prometheus',
  description:
    'Metrics of this process in the text format of Prometheus. If `METRICS_PORT` is set, only that port serves them.',
  extension: true,
  isPublic: true,
  answer: {
    status: 200,
    description: 'The metrics.',
    content: {
      type: 'text/plain',
      schema: { type: 'string' },
      example: 'sluice_rate_limited_requests_total{function="bulk_import"} 3\n',
    },
  },
  serve:
    ({ metrics: { metrics } }) =>
    async ({ reply }) => {
      return reply.type(metrics.registry.contentType).send(await exposition(metrics))
    },
})

/** The API document for programs. All answers share its bytes, so slow readers cost no memory. */
export const document = endpoint({
  id: 'getDocument',
  route: 'GET /openapi.json',
  tag: 'Operation',
  summary: 'This document, for programs',
  description: 'OpenAPI 3.1.',
  extension: true,
  isPublic: true,
  answer: {
    status: 200,
    description: 'The document.',
    headers: etag,
    hasValidator: true,
    content: {
      type: 'application/json',
      schema: { type: 'object', required: ['openapi', 'info', 'paths'] },
      example: { openapi: '3.1.0', info: { title: 'Sluice API' }, paths: {} },
    },
  },
  serve:
    ({ document }) =>
    async ({ request, reply }) => {
      return sendDocument(request, reply.type('application/json; charset=utf-8'), document.json)
    },
})

/** The API document for people. */
export const docs = endpoint({
  id: 'getDocs',
  route: 'GET /docs',
  tag: 'Operation',
  summary: 'This document, for people',
  description: 'One page, which works without scripts and without a network.',
  extension: true,
  isPublic: true,
  answer: {
    status: 200,
    description: 'The page.',
    content: { type: 'text/html', schema: { type: 'string' }, example: '<!doctype html>…' },
    hasValidator: true,
    headers: pageHeaders,
  },
  serve:
    ({ document }) =>
    async ({ request, reply }) =>
      sendPage(request, reply, document.html),
})

/** Leads people who open the address of the API to the document. */
export const root = endpoint({
  id: 'getRoot',
  route: 'GET /',
  tag: 'Operation',
  summary: 'Redirects to this document',
  description: 'For people who open the address of the API.',
  extension: true,
  isPublic: true,
  answer: {
    status: 302,
    description: 'The address of the document for people.',
    headers: {
      Location: { description: 'The address.', schema: { type: 'string', format: 'uri-reference' }, required: true },
    },
  },
  // Relative, because a proxy may serve the API below a path.
  serve:
    () =>
    async ({ reply }) =>
      reply.redirect('docs', 302),
})
