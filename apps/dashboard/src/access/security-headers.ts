import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DashboardContext } from '../context.ts'

/** Where something may come from, by directive. */
type Sources = Readonly<Record<string, readonly string[]>>

/** Pages load and do what this server gives them, and are framed by nobody. */
const sources: Sources = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
}

/** The Content-Security-Policy of pages; a page that needs more than others names it. */
export function contentSecurityPolicy(more: Sources = {}): string {
  return Object.entries({ ...sources, ...more })
    .map(([directive, from]) => `${directive} ${from.join(' ')}`)
    .join('; ')
}

const policy = contentSecurityPolicy()

/** The headers of every answer: what a browser may do with it, and that nobody keeps it. */
function securityHeaders({ dashboardUrl }: DashboardContext): Record<string, string> {
  return {
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    // An address may hold the secret of a sign-in link. Forms have to send their origin, though.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
    ...(dashboardUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  }
}

/** Gives every answer its security headers. */
export function secureAnswers(dashboard: FastifyInstance, context: DashboardContext): void {
  const headers = securityHeaders(context)
  dashboard.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...headers, 'X-Request-Id': request.id })
  })
}

/** Answers addresses that cannot be decoded: no hook runs for them, and there is no page. */
export function answerBrokenAddresses(context: DashboardContext) {
  const headers = securityHeaders(context)
  return (_error: Error, { id }: FastifyRequest, reply: FastifyReply): void => {
    void reply
      .code(404)
      .headers({ ...headers, 'X-Request-Id': id })
      .type('text/plain')
      .send('There is no such page.\n')
  }
}
