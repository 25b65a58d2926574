import type { FastifyInstance } from 'fastify'
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

/** Gives every answer its security headers, and keeps pages out of caches. */
export function secureAnswers(dashboard: FastifyInstance, { dashboardUrl }: DashboardContext): void {
  const headers = {
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
  dashboard.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...headers, 'X-Request-Id': request.id })
  })
}
