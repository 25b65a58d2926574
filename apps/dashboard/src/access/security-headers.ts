import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DashboardContext } from '../context.ts'
import { notFound } from '../error-pages.ts'

/** Pages load only resources of this server, and must not be framed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Returns the headers of every answer. They restrict the browser, and forbid caching. */
function securityHeaders({ dashboardUrl }: DashboardContext): Record<string, string> {
  return {
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    // Addresses may contain the secret of a sign-in link, so other sites must not see them. The stricter `no-referrer`
    // would also hide the origin of the dashboard's own forms.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
    ...(dashboardUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  }
}

/** Adds the security headers to every answer. */
export function secureAnswers(dashboard: FastifyInstance, context: DashboardContext): void {
  const headers = securityHeaders(context)
  dashboard.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...headers, 'X-Request-Id': request.id })
  })
}

/** Answers addresses that cannot be decoded. Hooks do not run for them, so the headers are set here. */
export function answerBrokenAddresses(context: DashboardContext) {
  const headers = securityHeaders(context)
  return (_error: Error, { id }: FastifyRequest, reply: FastifyReply): void => {
    notFound(reply.headers({ ...headers, 'X-Request-Id': id }))
  }
}
