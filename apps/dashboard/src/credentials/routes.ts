import { replaceToken, showToken } from '@sluice/accounts'
import { html } from '@sluice/html'
import type { FastifyReply } from 'fastify'
import { formOf } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { accessKeyRoutes, showGateway } from './access-key-routes.ts'
import { confirmRegistration, newToken, tokenSection } from './api-token-pages.ts'

/** Adds the page of credentials, and the routes that register a new API token. */
export const credentialRoutes: PageRoutes = (dashboard, context) => {
  const { db } = context
  accessKeyRoutes(dashboard, context)

  dashboard.get('/apps/:appId/credentials', async (request, reply) => {
    const { appId } = visitedApp(request)
    const token = await showToken(db, appId)
    return sendCredentials(
      reply,
      'Credentials',
      html`${tokenSection(appId, token)}${await showGateway(context, request)}`,
    )
  })

  dashboard.get('/apps/:appId/credentials/api-token', async (request, reply) => {
    const token = await showToken(db, visitedApp(request).appId)
    return sendCredentials(reply, 'Register a new API token', confirmRegistration(request, token))
  })

  dashboard.post(
    '/apps/:appId/credentials/api-token',
    { config: { audit: { what: 'token.register' } } },
    async (request, reply) => {
      const { appId } = visitedApp(request)
      const token = await replaceToken(db, appId, formOf(request).get('replaces') ?? '')
      request.auditChange = token !== undefined
      // If the form is sent twice, or by two members at once, only the first request replaces the token.
      if (token === undefined) return reply.redirect(`/apps/${appId}/credentials`, 303)
      request.auditTarget = `…${token.slice(-4)}`
      return sendCredentials(reply, 'Your new API token', newToken(appId, token))
    },
  )
}

function sendCredentials(reply: FastifyReply, title: string, content: ReturnType<typeof html>): FastifyReply {
  return sendPage(reply, { title, area: 'credentials', content })
}
