import type { FastifyInstance } from 'fastify'

/** A field of a form or a query parameter contains U+0000, which Postgres cannot store. */
export class UnreadableText extends Error {
  override readonly name = 'UnreadableText'
  readonly statusCode = 400
}

/**
 * Refuses requests with U+0000 in a form field or a query parameter, so that handlers need no check of their own. Path
 * parameters need no check: handlers validate them, or look up their hash.
 */
export function refuseUnreadableText(dashboard: FastifyInstance): void {
  dashboard.addHook('preHandler', async ({ is404, query, body }) => {
    if (is404) return
    const fields = body instanceof URLSearchParams ? [...body] : []
    const parameters = typeof query === 'object' && query !== null ? Object.entries(query) : []
    if ([fields, parameters].flat(3).some((text) => String(text).includes('\0'))) throw new UnreadableText()
  })
}
