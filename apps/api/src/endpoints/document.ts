import { endpoint, ofService } from '../endpoint.ts'
import { etag, pageHeaders, sendDocument, sendPage } from '../openapi/served-document.ts'

/** The API document for programs. All answers share its bytes, so slow readers cost no memory. */
export const document = endpoint({
  ...ofService,
  id: 'getDocument',
  route: 'GET /openapi.json',
  summary: 'This document, for programs',
  description: 'OpenAPI 3.1.',
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
  ...ofService,
  id: 'getDocs',
  route: 'GET /docs',
  summary: 'This document, for people',
  description: 'One page, which works without scripts and without a network.',
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
  ...ofService,
  id: 'getRoot',
  route: 'GET /',
  summary: 'Redirects to this document',
  description: 'For people who open the address of the API.',
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
