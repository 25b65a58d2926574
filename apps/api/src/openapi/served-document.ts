import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contentSecurityPolicy } from './docs-assets.ts'

/** A document that stays the same as long as the process runs. All answers share its bytes. */
export interface ServedDocument {
  bytes: Buffer
  etag: string
}

export function servedDocument(text: string): ServedDocument {
  return { bytes: Buffer.from(text), etag: `"${createHash('sha256').update(text).digest('base64url')}"` }
}

/** Sends a document, or 304 to a client that has it already (RFC 9110, 13.1.2). */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, etag }: ServedDocument,
): FastifyReply {
  const known = (request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  reply.headers({ 'Cache-Control': 'no-cache', ETag: etag })
  return known.includes(etag) || known.includes('*') ? reply.code(304).send() : reply.send(bytes)
}

/** Sends a page like {@link sendDocument}. It can load nothing, and no other page can show it in a frame. */
export function sendPage(request: FastifyRequest, reply: FastifyReply, page: ServedDocument): FastifyReply {
  const headers = {
    'Content-Security-Policy': contentSecurityPolicy,
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
  }
  return sendDocument(request, reply.headers(headers).type('text/html; charset=utf-8'), page)
}

/** The headers of documents, and of pages, as the API document describes them. */
export const etag = {
  ETag: { description: 'Validator for `If-None-Match`.', schema: { type: 'string' }, required: true },
} as const

export const pageHeaders = {
  ...etag,
  'Content-Security-Policy': {
    description: 'Prevents the page from loading anything, and from running anything but its search.',
    schema: { type: 'string' },
    required: true,
  },
} as const
