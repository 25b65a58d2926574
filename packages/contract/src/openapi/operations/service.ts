import { errors } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { PathItem } from '../document-types.ts'
import { fileLinkPath } from '../file-link.ts'
import { json, openResponses, success } from '../responses.ts'

/** `/error_files/{token}`. */
export const errorFilePath = fileLinkPath({
  operationId: 'getErrorFile',
  tag: 'Bulk import',
  summary: 'Download the error file of an import',
  description: [
    `Extension of Sluice. The link in result mails and in \`error_file_url\`. It is valid for ${limits.errorFileLinkDays} days. The file has the rows`,
    'that could not be applied, with the reasons in the first column, `SERVICE_ERRORS`. Correct the rows and import the file again.',
  ].join('\n'),
  token: '0b9d4d1e.c2VjcmV0',
  expired: 'The link has expired.',
})

/** `/healthz`. */
export const livePath: PathItem = {
  get: {
    operationId: 'isLive',
    tags: ['Operation'],
    summary: 'Check that the process runs',
    description: 'Extension of Sluice.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses({ 200: success('The process runs.', json('Health', { status: 'ok' })) }),
  },
}

/** `/readyz`. */
export const readyPath: PathItem = {
  get: {
    operationId: 'isReady',
    tags: ['Operation'],
    summary: 'Check that the service can process requests',
    description: 'Extension of Sluice.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses(
      { 200: success('The service can process requests.', json('Health', { status: 'ready' })) },
      [{ name: 'unavailable', when: 'The database or storage cannot be reached.', answer: errors.unavailable() }],
    ),
  },
}

/** `/metrics`. */
export const metricsPath: PathItem = {
  get: {
    operationId: 'getMetrics',
    tags: ['Operation'],
    summary: 'Metrics for Prometheus',
    description:
      'Extension of Sluice. Metrics of this process in the text format of Prometheus. If `METRICS_PORT` is set, only that port serves them.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses({
      200: success('The metrics.', {
        'text/plain': {
          schema: { type: 'string' },
          examples: { example: { value: 'sluice_rate_limited_requests_total{function="bulk_import"} 3\n' } },
        },
      }),
    }),
  },
}

/** `/openapi.json`. */
export const documentPath: PathItem = {
  get: {
    operationId: 'getDocument',
    tags: ['Operation'],
    summary: 'This document, for programs',
    description: 'Extension of Sluice. OpenAPI 3.1.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses({
      200: success('The document.', {
        'application/json': {
          schema: { type: 'object', required: ['openapi', 'info', 'paths'] },
          examples: { example: { value: { openapi: '3.1.0', info: { title: 'Sluice API' }, paths: {} } } },
        },
      }),
    }),
  },
}

/** `/docs`. */
export const docsPath: PathItem = {
  get: {
    operationId: 'getDocs',
    tags: ['Operation'],
    summary: 'This document, for people',
    description: 'Extension of Sluice. One page without scripts.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses({
      200: success(
        'The page.',
        { 'text/html': { schema: { type: 'string' }, examples: { example: { value: '<!doctype html>…' } } } },
        {
          'Content-Security-Policy': {
            description: 'Prevents the page from loading or running anything.',
            schema: { type: 'string' },
            required: true,
          },
        },
      ),
    }),
  },
}
