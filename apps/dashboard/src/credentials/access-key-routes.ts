import { createAccessKey, deleteAccessKey, listAccessKeys, TooManyAccessKeys } from '@sluice/access-keys'
import { pathOf } from '@sluice/bucket-uploads'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitedApp } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { confirmDeletion, gatewaySection, newAccessKey } from './access-key-pages.ts'
import type { GatewayAddress } from './upload-commands.ts'

interface KeyQuery {
  Querystring: { key?: string }
}

const keyField = (request: FastifyRequest) => formOf(request).get('key') ?? undefined

/** Adds the routes that create and delete access keys. The page of credentials lists the keys. */
export const accessKeyRoutes: PageRoutes = (dashboard, context) => {
  const { db, encryptionKeys } = context

  dashboard.post(
    '/apps/:appId/credentials/access-keys',
    { config: { audit: { what: 'access_key.create' } } },
    async (request, reply) => {
      const { appId } = visitedApp(request)
      const key = await createAccessKey(db, encryptionKeys, appId).catch((error: unknown) => {
        if (error instanceof TooManyAccessKeys) return error
        throw error
      })
      if (key instanceof TooManyAccessKeys) {
        const content = html`<p class="notice bad" role="alert">Not created: ${key.message}.</p>${await showGateway(context, request)}`
        return sendPage(reply.code(409), { title: 'Credentials', area: 'credentials', content })
      }
      request.auditTarget = key.accessKeyId
      const content = newAccessKey(appId, addressOf(context, appId), key)
      return sendPage(reply, { title: 'Your new access key', area: 'credentials', content })
    },
  )

  dashboard.get<KeyQuery>('/apps/:appId/credentials/access-keys/delete', async (request, reply) => {
    const { appId } = visitedApp(request)
    const keys = await listAccessKeys(db, appId)
    const key = keys.find(({ accessKeyId }) => accessKeyId === request.query.key)
    if (key === undefined) throw new PageNotFound()
    const content = confirmDeletion(request, key.accessKeyId)
    return sendPage(reply, { title: 'Delete an access key', area: 'credentials', content })
  })

  const remove = { audit: { what: 'access_key.delete', target: keyField } } as const
  dashboard.post('/apps/:appId/credentials/access-keys/delete', { config: remove }, async (request, reply) => {
    const { appId } = visitedApp(request)
    // If the form is sent twice, the key is already deleted, which is no error.
    request.auditChange = await deleteAccessKey(db, appId, formOf(request).get('key') ?? '')
    return reply.redirect(`/apps/${appId}/credentials`, 303)
  })
}

/** Returns the part of the credentials page about the S3 gateway. */
export async function showGateway(context: DashboardContext, request: FastifyRequest): Promise<Html> {
  const { appId } = visitedApp(request)
  return gatewaySection(request, addressOf(context, appId), await listAccessKeys(context.db, appId))
}

function addressOf({ s3Gateway }: DashboardContext, appId: number): GatewayAddress {
  return { endpoint: s3Gateway.url, bucket: s3Gateway.bucket, region: s3Gateway.region, path: pathOf(appId) }
}
