import { errors } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { PathItem } from '../document-types.ts'
import { json, openResponses, success } from '../responses.ts'

/** `/error_files/{token}`. */
export const errorFilePath: PathItem = {
  get: {
    operationId: 'getErrorFile',
    tags: ['Bulk import'],
    summary: 'Download the error file of an import',
    description: [
      `Extension of Sluice. The link in result mails and in \`error_file_url\`, good for ${limits.errorFileLinkDays} days: it`,
      'leads to the rows that could not be applied, with the reasons in a first column `SERVICE_ERRORS`. Correct them and import the file again.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [],
    parameters: [
      {
        name: 'token',
        in: 'path',
        required: true,
        description: 'The secret part of the link.',
        schema: { type: 'string' },
        example: '0b9d4d1e.c2VjcmV0',
      },
    ],
    responses: openResponses(
      {
        302: success('The file lies there for the next 5 minutes.', undefined, {
          Location: { description: 'Address of the file.', schema: { type: 'string', format: 'uri' }, required: true },
        }),
      },
      [
        { name: 'unknown', when: 'There is no such link.', answer: errors.notFound() },
        { name: 'expired', when: 'The link has expired.', answer: errors.linkExpired() },
      ],
    ),
  },
}

/** `/healthz`. */
export const livePath: PathItem = {
  get: {
    operationId: 'isLive',
    tags: ['Operation'],
    summary: 'Whether the process runs',
    description: 'Extension of Sluice.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses({ 200: success('It runs.', json('Health', { status: 'ok' })) }),
  },
}

/** `/readyz`. */
export const readyPath: PathItem = {
  get: {
    operationId: 'isReady',
    tags: ['Operation'],
    summary: 'Whether the service can take requests',
    description: 'Extension of Sluice.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses({ 200: success('It can.', json('Health', { status: 'ready' })) }, [
      { name: 'unavailable', when: 'The database or storage is out of reach.', answer: errors.unavailable() },
    ]),
  },
}

/** `/metrics`. */
export const metricsPath: PathItem = {
  get: {
    operationId: 'getMetrics',
    tags: ['Operation'],
    summary: 'Counts for Prometheus',
    description: 'Extension of Sluice. Counts of this process, in the text format of Prometheus.',
    'x-sluice-extension': true,
    security: [],
    responses: openResponses({
      200: success('The counts.', {
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
            description: 'The page loads and runs nothing.',
            schema: { type: 'string' },
            required: true,
          },
        },
      ),
    }),
  },
}
