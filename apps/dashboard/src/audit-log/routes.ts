import { Readable } from 'node:stream'
import { type AuditLogFilter, auditLogPage, auditLogPages } from '@sluice/audit-log'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { auditLogContent } from './audit-log-page.ts'

/** The number of entries on one page. */
const pageSize = 50

interface LogQuery {
  Querystring: { before?: string }
}

/** Adds the audit log of an app for its members, the log of all apps for operators, and both as files. */
export const auditLogRoutes: PageRoutes = (dashboard, context) => {
  const operators = { config: { access: 'operators' } } as const
  dashboard.get<LogQuery>('/apps/:appId/audit-log', (request, reply) => sendLog(context, request, reply))
  dashboard.get<LogQuery>('/audit-log', operators, (request, reply) => sendLog(context, request, reply))
  dashboard.get('/apps/:appId/audit-log/file', (request, reply) => sendFile(context, request, reply))
  dashboard.get('/audit-log/file', operators, (request, reply) => sendFile(context, request, reply))
}

/** Returns the filter for the app that the address names, or for all apps. */
function scopeOf({ visitedApp }: FastifyRequest): AuditLogFilter {
  return { appId: visitedApp?.appId }
}

async function sendLog(
  { db }: DashboardContext,
  request: FastifyRequest<LogQuery>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const before = request.query.before === undefined ? undefined : String(request.query.before)
  const { entries, next } = await auditLogPage(db, { ...scopeOf(request), before }, pageSize)
  const address = request.visitedApp === undefined ? '/audit-log' : `/apps/${request.visitedApp.appId}/audit-log`
  const content = auditLogContent(address, entries, {
    next,
    isFirst: before === undefined,
    isOfApp: request.visitedApp !== undefined,
  })
  return sendPage(reply, {
    title: 'Audit log',
    area: request.visitedApp === undefined ? 'all-audit-log' : 'audit-log',
    content,
  })
}

/** Streams all entries, newest first, as one JSON document a line. */
async function sendFile({ db }: DashboardContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const scope = scopeOf(request)
  async function* lines(): AsyncGenerator<string> {
    for await (const entries of auditLogPages(db, scope)) {
      yield entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    }
  }
  return reply
    .type('application/x-ndjson; charset=utf-8')
    .header('Content-Disposition', 'attachment; filename="audit-log.jsonl"')
    .send(Readable.from(request.method === 'HEAD' ? [] : lines()))
}
