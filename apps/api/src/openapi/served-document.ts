import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

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
