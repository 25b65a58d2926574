import { addMember, LastMember, listMembers, normalEmail, removeMember, sendMailsTo } from '@sluice/accounts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitedApp, visitorOf } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { confirmRemoval, settingsContent } from './pages.ts'

interface MemberQuery {
  Querystring: { member?: string }
}

/** Settings of an app: its members, and who of them gets its mails. */
export const settingsRoutes: PageRoutes = (dashboard, context) => {
  const { db } = context

  dashboard.get('/apps/:appId/settings', async (request, reply) => await sendSettings(context, request, reply))

  dashboard.post('/apps/:appId/settings/mails', async (request, reply) => {
    const { appId } = visitedApp(request)
    const form = formOf(request)
    await sendMailsTo(db, appId, { among: form.getAll('shown'), chosen: form.getAll('email') })
    return reply.redirect(`/apps/${appId}/settings`, 303)
  })

  dashboard.post('/apps/:appId/settings/members', async (request, reply) => {
    const { appId } = visitedApp(request)
    const email = (formOf(request).get('email') ?? '').trim()
    if (normalEmail(email) === undefined) {
      const problem = 'This is not an e-mail address in ASCII.'
      return await sendSettings(context, request, reply.code(400), { email, problem })
    }
    if (!(await addMember(db, appId, email))) {
      return await sendSettings(context, request, reply.code(409), { email, problem: 'They are a member already.' })
    }
    return reply.redirect(`/apps/${appId}/settings`, 303)
  })

  dashboard.get<MemberQuery>('/apps/:appId/settings/members/remove', async (request, reply) => {
    const email = await requireMember(context, request, String(request.query.member ?? ''))
    return sendPage(reply, { title: 'Remove a member', area: 'settings', content: confirmRemoval(request, email) })
  })

  dashboard.post<MemberQuery>('/apps/:appId/settings/members/remove', async (request, reply) => {
    const { appId } = visitedApp(request)
    const email = await requireMember(context, request, formOf(request).get('member') ?? '')
    try {
      await removeMember(db, appId, email)
    } catch (error) {
      if (!(error instanceof LastMember)) throw error
      const problem = 'The last member stays: somebody has to be able to sign in.'
      return await sendSettings(context, request, reply.code(409), { email: '', problem })
    }
    const { isOperator, email: own } = visitorOf(request)
    return reply.redirect(email === own && !isOperator ? '/' : `/apps/${appId}/settings`, 303)
  })
}

async function sendSettings(
  { db }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  refused?: { email: string; problem: string },
): Promise<FastifyReply> {
  const members = await listMembers(db, visitedApp(request).appId)
  return sendPage(reply, { title: 'Settings', area: 'settings', content: settingsContent(request, members, refused) })
}

async function requireMember({ db }: DashboardContext, request: FastifyRequest, email: string): Promise<string> {
  const members = await listMembers(db, visitedApp(request).appId)
  if (!members.some((member) => member.email === email)) throw new PageNotFound()
  return email
}
