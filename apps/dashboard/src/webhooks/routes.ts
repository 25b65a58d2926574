import { html } from '@sluice/html'
import {
  addEndpoint,
  EndpointRefused,
  enableEndpoint,
  enqueueTest,
  listDeliveries,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
  sendAgain,
  type WebhookEndpoint,
} from '@sluice/webhooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitedApp } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { deliverySection } from './deliveries-part.ts'
import { confirm, endpointSections, newSecret, type RefusedEndpoint } from './webhooks-page.ts'

/** The number of deliveries on one page. */
const pageSize = 50

interface PageQuery {
  Querystring: { before?: unknown; endpoint?: unknown }
}

const field = (name: string) => (request: FastifyRequest) => formOf(request).get(name) ?? undefined
const endpointField = field('endpoint')
const deliveryField = field('delivery')

const pageOf = (request: FastifyRequest) => `/apps/${visitedApp(request).appId}/webhooks`

const titles = { remove: 'Remove an endpoint', rotate: 'Replace a secret' } as const

/**
 * Adds the page of webhooks with endpoints and deliveries, and the routes that change them (second-day.md §5, Page).
 */
export const webhookRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get<PageQuery>('/apps/:appId/webhooks', (request, reply) => sendWebhooks(context, request, reply))
  endpointRoutes(dashboard, context)
  deliveryRoutes(dashboard, context)
}

/** Adds the routes that add and change an endpoint, and the pages that ask before. */
const endpointRoutes: PageRoutes = (dashboard, context) => {
  const { db, encryptionKeys, webhookRule } = context

  const add = { audit: { what: 'webhook.add' } } as const
  dashboard.post<PageQuery>('/apps/:appId/webhooks', { config: add }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const given = { url: (formOf(request).get('url') ?? '').trim(), events: formOf(request).getAll('event') }
    const added = await addEndpoint(db, { keys: encryptionKeys, rule: webhookRule }, appId, given).catch(
      (error: unknown) => {
        if (error instanceof EndpointRefused) return error
        throw error
      },
    )
    if (added instanceof EndpointRefused)
      return await sendWebhooks(context, request, reply.code(400), { ...given, problem: added.message })
    request.auditTarget = added.endpointId
    return sendSecret(reply, appId, added)
  })

  for (const action of ['remove', 'rotate'] as const) {
    dashboard.get<PageQuery>(`/apps/:appId/webhooks/${action}`, async (request, reply) => {
      const endpoint = await requireEndpoint(context, request, String(request.query.endpoint ?? ''))
      return sendPage(reply, { title: titles[action], area: 'webhooks', content: confirm(request, action, endpoint) })
    })
  }

  const remove = { audit: { what: 'webhook.remove', target: endpointField } } as const
  dashboard.post('/apps/:appId/webhooks/remove', { config: remove }, async (request, reply) => {
    // If the form is sent twice, the endpoint is already removed, which is no error.
    request.auditChange = await removeEndpoint(db, visitedApp(request).appId, endpointField(request) ?? '')
    return reply.redirect(pageOf(request), 303)
  })

  const enable = { audit: { what: 'webhook.enable', target: endpointField } } as const
  dashboard.post('/apps/:appId/webhooks/enable', { config: enable }, async (request, reply) => {
    const enabled = await enableEndpoint(db, visitedApp(request).appId, endpointField(request) ?? '')
    if (enabled === false) throw new PageNotFound()
    request.auditChange = enabled === true
    return reply.redirect(pageOf(request), 303)
  })

  const rotate = { audit: { what: 'webhook.rotate', target: endpointField } } as const
  dashboard.post('/apps/:appId/webhooks/rotate', { config: rotate }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const endpoint = await requireEndpoint(context, request, endpointField(request) ?? '')
    const secret = await rotateSecret(db, encryptionKeys, appId, endpoint.endpointId)
    if (secret === undefined) throw new PageNotFound()
    return sendSecret(reply, appId, { url: endpoint.url, secret })
  })
}

/** Adds the test of an endpoint, and sending a delivery again. */
const deliveryRoutes: PageRoutes = (dashboard, { db }) => {
  const test = { audit: { what: 'webhook.test', target: endpointField } } as const
  dashboard.post('/apps/:appId/webhooks/test', { config: test }, async (request, reply) => {
    const delivery = await enqueueTest(db, visitedApp(request).appId, endpointField(request) ?? '')
    if (delivery === undefined) throw new PageNotFound()
    return reply.redirect(pageOf(request), 303)
  })

  const again = { audit: { what: 'webhook.send_again', target: deliveryField } } as const
  dashboard.post('/apps/:appId/webhooks/send-again', { config: again }, async (request, reply) => {
    const found = await sendAgain(db, visitedApp(request).appId, deliveryField(request) ?? '')
    if (!found) throw new PageNotFound()
    return reply.redirect(pageOf(request), 303)
  })
}

async function sendWebhooks(
  { db }: DashboardContext,
  request: FastifyRequest<PageQuery>,
  reply: FastifyReply,
  refused?: RefusedEndpoint,
): Promise<FastifyReply> {
  const { appId } = visitedApp(request)
  const before = request.query.before === undefined ? undefined : String(request.query.before)
  const [endpoints, { deliveries, next }] = await Promise.all([
    listEndpoints(db, appId),
    listDeliveries(db, appId, pageSize, before),
  ])
  const isFirst = before === undefined
  const content = html`${isFirst && endpointSections(request, endpoints, refused)}${deliverySection(request, deliveries, { next, isFirst })}`
  return sendPage(reply, { title: 'Webhooks', area: 'webhooks', content })
}

function sendSecret(reply: FastifyReply, appId: number, endpoint: { url: string; secret: string }): FastifyReply {
  return sendPage(reply, {
    title: 'The secret of your endpoint',
    area: 'webhooks',
    content: newSecret(appId, endpoint),
  })
}

async function requireEndpoint(
  { db }: DashboardContext,
  request: FastifyRequest,
  endpointId: string,
): Promise<WebhookEndpoint> {
  const endpoints = await listEndpoints(db, visitedApp(request).appId)
  const endpoint = endpoints.find((each) => each.endpointId === endpointId)
  if (endpoint === undefined) throw new PageNotFound()
  return endpoint
}
