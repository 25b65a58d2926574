import { openApiDocument } from '@sluice/contract'
import type { FastifyInstance } from 'fastify'
import { contentSecurityPolicy, docsPage } from './docs-page.ts'

/**
 * Adds the API document: `/openapi.json` for programs and `/docs` for people. Neither requires a token. All answers
 * share their bytes, so slow readers cost no memory.
 */
export function docsRoutes(api: FastifyInstance, apiUrl: string): void {
  const description = openApiDocument(apiUrl)
  const document = Buffer.from(JSON.stringify(description))
  const page = Buffer.from(docsPage(description))

  api.get('/openapi.json', async (_, reply) =>
    reply.header('Cache-Control', 'no-cache').type('application/json; charset=utf-8').send(document),
  )
  api.get('/docs', async (_, reply) =>
    reply
      .headers({
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': contentSecurityPolicy,
        'Referrer-Policy': 'no-referrer',
        'X-Frame-Options': 'DENY',
      })
      .type('text/html; charset=utf-8')
      .send(page),
  )
}
