import { type AppLimits, setAppLimits, showApp } from '@sluice/accounts'
import { type AuditAction, withPausers } from '@sluice/audit-log'
import { maxProfileKeys, rateLimit } from '@sluice/config'
import { findPauses, pauseImports, resumeImports } from '@sluice/imports'
import { countActive } from '@sluice/operations'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { redirectSaved, sendPage } from '../layout/page.ts'
import { confirmPause } from './pause-parts.ts'
import { pausesContent } from './pauses-page.ts'

const operators = { config: { access: 'operators' } } as const
const change = (what: AuditAction) => ({ config: { ...operators.config, audit: { what } } })

/**
 * Adds the page on which operators pause an app (second-day.md §6, Pauses) and set its limits
 * (second-day.md §6, Limits), and the routes that pause and resume all apps.
 */
export const pauseRoutes: PageRoutes = (dashboard, context) => {
  const { db } = context
  dashboard.get('/apps/:appId/operation', operators, async (request, reply) => {
    return await sendPauses(context, request, reply)
  })

  dashboard.get('/apps/:appId/operation/pause', operators, async (request, reply) => {
    const { appId } = visitedApp(request)
    const target = { back: `/apps/${appId}/operation`, subject: 'the imports of this app' }
    const content = confirmPause(request, await countActive(db, appId), target)
    return sendPage(reply, { title: 'Pause the imports of this app?', area: 'operation', content })
  })

  dashboard.post('/apps/:appId/operation/pause', change('app.pause'), async (request, reply) => {
    const { appId } = visitedApp(request)
    request.auditChange = await pauseImports(db, appId)
    return reply.redirect(`/apps/${appId}/operation`, 303)
  })

  dashboard.post('/apps/:appId/operation/resume', change('app.resume'), async (request, reply) => {
    const { appId } = visitedApp(request)
    request.auditChange = await resumeImports(db, appId)
    return reply.redirect(`/apps/${appId}/operation`, 303)
  })

  dashboard.post('/apps/:appId/operation/limits', change('app.limits'), async (request, reply) => {
    const { appId } = visitedApp(request)
    const limits = readLimits(formOf(request))
    if (limits === undefined) return await sendPauses(context, request, reply.code(400), formOf(request))
    request.auditChange = await setAppLimits(db, appId, limits)
    request.auditTarget = `bulk imports ${limits.bulkImport ?? 'default'}, profile keys ${limits.profileKeys ?? 'default'}`
    return redirectSaved(reply, `/apps/${appId}/operation`)
  })

  serviceRoutes(dashboard, context)
}

/** Adds the pause of the imports of all apps. */
const serviceRoutes: PageRoutes = (dashboard, { db }) => {
  dashboard.get('/queues/pause', operators, async (request, reply) => {
    const target = { back: '/queues', subject: 'the imports of all apps' }
    const content = confirmPause(request, await countActive(db, undefined), target)
    return sendPage(reply, { title: 'Pause the imports of all apps?', area: 'queues', content })
  })

  dashboard.post('/queues/pause', change('service.pause'), async (request, reply) => {
    request.auditChange = await pauseImports(db, undefined)
    return reply.redirect('/queues', 303)
  })

  dashboard.post('/queues/resume', change('service.resume'), async (request, reply) => {
    request.auditChange = await resumeImports(db, undefined)
    return reply.redirect('/queues', 303)
  })
}

async function sendPauses(
  { db }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  refused?: URLSearchParams,
): Promise<FastifyReply> {
  const { appId } = visitedApp(request)
  const [app, { ofApp, ofAllApps }] = await Promise.all([showApp(db, appId), findPauses(db, appId)])
  const pauses = await withPausers(db, [
    ...(ofApp === null ? [] : [{ appId, since: ofApp }]),
    ...(ofAllApps === null ? [] : [{ appId: undefined, since: ofAllApps }]),
  ])
  const content = pausesContent(request, { app, pauses, refused })
  return sendPage(reply, { title: 'Operation', area: 'operation', content })
}

/** Returns the limits that a form contains; undefined if they are invalid. For an empty field, the setting applies. */
function readLimits(form: URLSearchParams): AppLimits | undefined {
  const [rate, keys] = ['bulk_import', 'profile_keys'].map((name) => (form.get(name) ?? '').trim())
  const isRate = rate === '' || rateLimit.safeParse(rate).success
  const isNumber = keys === '' || (/^[1-9]\d{0,5}$/.test(keys ?? '') && Number(keys) <= maxProfileKeys)
  if (!isRate || !isNumber) return undefined
  return { bulkImport: rate || null, profileKeys: keys ? Number(keys) : null }
}
