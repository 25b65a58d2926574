import { timingSafeEqual } from 'node:crypto'
import { type Html, html } from '@sluice/html'
import type { FastifyInstance, FastifyRequest } from 'fastify'

const field = 'form_token'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `mail program`: a mail program sends the request. The key in its address is the permission, so it needs no form
     * token.
     */
    sender?: 'mail program'
  }
}

/** The form comes from another site, or the visitor opened it before signing in or out. */
export class ForeignForm extends Error {
  override readonly name = 'ForeignForm'
  readonly statusCode = 403
}

/** Returns the hidden field that every form needs. Scripts send its value as the header `X-Form-Token`. */
export function formTokenField({ formToken }: FastifyRequest): Html {
  return html`<input type="hidden" name="${field}" value="${formToken}">`
}

/** Accepts forms as the only kind of request body. A route with other bodies needs a parser of its own. */
export function parseForms(dashboard: FastifyInstance): void {
  dashboard.removeAllContentTypeParsers()
  dashboard.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => new URLSearchParams(body),
  )
}

/** Returns the fields of the form in a request. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams()
}

/** Whether a request only reads. */
export function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Refuses requests other than GET and HEAD if they do not come from a page that was served to this visitor. */
export function guardForms(dashboard: FastifyInstance): void {
  dashboard.addHook('preHandler', async (request) => {
    if (isReading(request) || request.is404) return
    if (request.routeOptions.config.sender === 'mail program') return
    const header = request.headers['x-form-token']
    const actual = Buffer.from((typeof header === 'string' ? header : formOf(request).get(field)) ?? '')
    const expected = Buffer.from(request.formToken)
    const isValid = expected.length > 0 && actual.length === expected.length && timingSafeEqual(actual, expected)
    if (!isValid) throw new ForeignForm()
  })
}
