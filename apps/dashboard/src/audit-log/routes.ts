import { Readable } from 'node:stream'
import { type AuditLogFilter, auditLogPage, auditLogPages } from '@sluice/audit-log'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PageNotFound } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { auditLogContent } from './audit-log-page.ts'
import { type FilterTexts, filterNames, parseAuditFilter } from './filter.ts'

/** The number of entries on one page. */
const pageSize = 50

interface LogQuery {
  Querystring: Partial<FilterTexts> & { before?: string }
}

/**
 * Adds the audit log of an app for its members, the log of all apps for operators, and both as files
 * (second-day.md §6, Audit log).
 */
export const auditLogRoutes: PageRoutes = (dashboard, context) => {
  const operators = { config: { access: 'operators' } } as const
  dashboard.get<LogQuery>('/apps/:appId/audit-log', (request, reply) => sendLog(context, request, reply))
  dashboard.get<LogQuery>('/audit-log', operators, (request, reply) => sendLog(context, request, reply))
  dashboard.get<LogQuery>('/apps/:appId/audit-log/file', (request, reply) => sendFile(context, request, reply))
  dashboard.get<LogQuery>('/audit-log/file', operators, (request, reply) => sendFile(context, request, reply))
}

/** Returns the filters that the address has, as text. */
function textsOf({ query }: FastifyRequest<LogQuery>): FilterTexts {
  const texts = filterNames.map((name) => [name, String(query[name] ?? '')])
  return Object.fromEntries(texts) as FilterTexts
}

async function sendLog(
  { db }: DashboardContext,
  request: FastifyRequest<LogQuery>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const app = request.visitedApp
  const before = request.query.before === undefined ? undefined : String(request.query.before)
  const texts = textsOf(request)
  const filter = parseAuditFilter(texts)
  const isValid = !('invalid' in filter)
  const { entries, next } = isValid
    ? await auditLogPage(db, { ...filter, appId: app?.appId, before }, pageSize)
    : { entries: [], next: undefined }
  const content = auditLogContent(app === undefined ? '/audit-log' : `/apps/${app.appId}/audit-log`, texts, {
    entries,
    next,
    isFirst: before === undefined,
    isOfApp: app !== undefined,
    invalid: isValid ? undefined : filter.invalid,
  })
  const [title, area] =
    app === undefined ? (['All audit logs', 'all-audit-log'] as const) : (['Audit log', 'audit-log'] as const)
  return sendPage(isValid ? reply : reply.code(400), { title, area, content })
}

/** Streams the entries that match the filters, newest first, as one JSON document a line. */
async function sendFile(
  { db }: DashboardContext,
  request: FastifyRequest<LogQuery>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const filter = parseAuditFilter(textsOf(request))
  if ('invalid' in filter) throw new PageNotFound()
  const scope: AuditLogFilter = { ...filter, appId: request.visitedApp?.appId }
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
