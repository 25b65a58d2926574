import { timingSafeEqual } from 'node:crypto'
import { type Html, html } from '@sluice/html'
import type { FastifyInstance, FastifyRequest } from 'fastify'

const field = 'form_token'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route is asked by scripts of others that know no form token: the browser itself must say that they are of this host. */
    sender?: 'script'
  }
}

/** A form that another site sent, or one from before the visitor signed in or out. */
export class ForeignForm extends Error {
  override readonly name = 'ForeignForm'
  readonly statusCode = 403
}

/** The hidden field that every form needs. Scripts send its value as the header `X-Form-Token`. */
export function formTokenField({ formToken }: FastifyRequest): Html {
  return html`<input type="hidden" name="${field}" value="${formToken}">`
}

/** Reads the bodies of forms; there are no others, but where a route brings a parser of its own. */
export function parseForms(dashboard: FastifyInstance): void {
  dashboard.removeAllContentTypeParsers()
  dashboard.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => new URLSearchParams(body),
  )
}

/** The fields of the form that was sent. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams()
}

/** Refuses whatever would change something and does not come from a page that this visitor was given. */
export function guardForms(dashboard: FastifyInstance): void {
  dashboard.addHook('preHandler', async (request) => {
    if (request.method === 'GET' || request.is404) return
    if (request.routeOptions.config.sender === 'script') {
      if (!isFromHere(request)) throw new ForeignForm()
      return
    }
    const header = request.headers['x-form-token']
    const given = Buffer.from((typeof header === 'string' ? header : formOf(request).get(field)) ?? '')
    const right = Buffer.from(request.formToken)
    if (right.length === 0 || given.length !== right.length || !timingSafeEqual(given, right)) throw new ForeignForm()
  })
}

/** What the browser says of where a request comes from. Over plain http it only names the origin. */
function isFromHere({ headers }: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, origin, host } = headers
  if (site !== undefined) return site === 'same-origin'
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host
}
