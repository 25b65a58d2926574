import type { AuditAction } from '@sluice/audit-log'
import { findPauses, pauseImports, resumeImports } from '@sluice/imports'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { operationContent } from './operation-page.ts'

/** Adds the page on which operators pause and resume an app, and the buttons that pause and resume all apps. */
export const operationRoutes: PageRoutes = (dashboard, { db }) => {
  const operators = { config: { access: 'operators' } } as const
  const change = (what: AuditAction) => ({ config: { ...operators.config, audit: { what } } })

  dashboard.get('/apps/:appId/operation', operators, async (request, reply) => {
    const content = operationContent(request, await findPauses(db, visitedApp(request).appId))
    return sendPage(reply, { title: 'Operation', area: 'operation', content })
  })

  dashboard.post('/apps/:appId/operation/pause', change('app.pause'), async (request, reply) => {
    const { appId } = visitedApp(request)
    await pauseImports(db, appId)
    return reply.redirect(`/apps/${appId}/operation`, 303)
  })

  dashboard.post('/apps/:appId/operation/resume', change('app.resume'), async (request, reply) => {
    const { appId } = visitedApp(request)
    await resumeImports(db, appId)
    return reply.redirect(`/apps/${appId}/operation`, 303)
  })

  dashboard.post('/queues/pause', change('service.pause'), async (_, reply) => {
    await pauseImports(db, undefined)
    return reply.redirect('/queues', 303)
  })

  dashboard.post('/queues/resume', change('service.resume'), async (_, reply) => {
    await resumeImports(db, undefined)
    return reply.redirect('/queues', 303)
  })
}
