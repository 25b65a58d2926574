import type { FastifyInstance } from 'fastify'

/** A field of a form, or a parameter of an address, holds U+0000, which Postgres does not store. */
export class UnreadableText extends Error {
  override readonly name = 'UnreadableText'
  readonly statusCode = 400
}

/**
 * Refuses requests with U+0000 in a field of a form or in a parameter, whichever the route reads: no handler has to think of it.
 * Parts of the path need no such check: handlers look for what has their form, or for a hash of them.
 */
export function refuseUnreadableText(dashboard: FastifyInstance): void {
  dashboard.addHook('preHandler', async ({ is404, query, body }) => {
    if (is404) return
    const fields = body instanceof URLSearchParams ? [...body] : []
    const parameters = typeof query === 'object' && query !== null ? Object.entries(query) : []
    if ([fields, parameters].flat(3).some((text) => String(text).includes('\0'))) throw new UnreadableText()
  })
}
