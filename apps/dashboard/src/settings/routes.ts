import {
  importDefaults,
  LastMember,
  listMembers,
  normalEmail,
  removeMember,
  sendMailsTo,
  setImportDefaults,
} from '@sluice/accounts'
import { holdIfText, newKeysChoices } from '@sluice/contract'
import { html } from '@sluice/html'
import { invitation } from '@sluice/mail'
import { retryAfter } from '@sluice/rate-limits'
import {
  type InvitationOutcome,
  invitationDays,
  inviteMember,
  listInvitations,
  withdrawInvitation,
} from '@sluice/sign-in'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitedApp, visitorOf } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { readHoldIf } from '../data-import/hold-if-fields.ts'
import { redirectSaved, sendPage } from '../layout/page.ts'
import { openLinkMails } from '../link-mails.ts'
import { importDefaultsForm, type ShownDefaults } from './import-defaults-form.ts'
import { confirmRemoval, settingsContent } from './settings-page.ts'

interface MemberQuery {
  Querystring: { member?: string }
}

/** The answers to refused invitations. */
const refusals: Record<Exclude<InvitationOutcome['outcome'], 'invited'>, { status: number; problem: string }> = {
  member: { status: 409, problem: 'This person is a member already.' },
  'too many members': { status: 409, problem: 'The app has reached its limit of members and invitations.' },
  'too many mails': {
    status: 429,
    problem: 'Too many such links were mailed by this app or to this address. Try again later.',
  },
}

const emailField = (request: FastifyRequest) => formOf(request).get('email')?.trim()
const memberField = (request: FastifyRequest) => formOf(request).get('member') ?? undefined

/** Adds the settings of an app: its members, which of them get mails, and the invitations. */
export const settingsRoutes: PageRoutes = (dashboard, context) => {
  const { db } = context
  invitationRoutes(dashboard, context)
  removalRoutes(dashboard, context)

  // second-day.md §1, New keys; changes.md §2, Asking for it.
  dashboard.get('/apps/:appId/settings', async (request, reply) => await sendSettings(context, request, reply))

  dashboard.post(
    '/apps/:appId/settings/mails',
    { config: { audit: { what: 'member.mails' } } },
    async (request, reply) => {
      const { appId } = visitedApp(request)
      const form = formOf(request)
      const changed = await sendMailsTo(db, appId, { among: form.getAll('shown'), chosen: form.getAll('email') })
      request.auditChange = changed.length > 0
      request.auditTarget =
        changed.map(({ email, getsMails }) => `${getsMails ? 'to' : 'none to'} ${email}`).join(', ') || 'nobody'
      return redirectSaved(reply, `/apps/${appId}/settings`)
    },
  )

  dashboard.post(
    '/apps/:appId/settings/imports',
    { config: { audit: { what: 'app.set' } } },
    async (request, reply) => {
      const { appId } = visitedApp(request)
      const form = formOf(request)
      const chosen = newKeysChoices.find((choice) => choice === form.get('new_keys'))
      if (chosen === undefined) return await sendSettings(context, request, reply.code(400))
      const given = { new_keys: chosen, keep_changes: form.get('keep_changes') === 'true' }
      const held = readHoldIf(form)
      if ('problem' in held) {
        const refused = { ...held, shown: { ...given, hold_if: form } }
        return await sendSettings(context, request, reply.code(400), refused)
      }
      const { holdIf } = held
      const defaults = { ...given, ...(holdIf !== undefined && { hold_if: holdIf }) }
      request.auditTarget = `new keys: ${chosen}, keep changes: ${defaults.keep_changes}${holdIf === undefined ? '' : `, hold if: ${holdIfText(holdIf)}`}`
      request.auditChange = await setImportDefaults(db, appId, defaults)
      request.log.info({ app_id: appId, by: visitorOf(request).email, ...defaults }, 'defaults of imports set')
      return redirectSaved(reply, `/apps/${appId}/settings`)
    },
  )
}

/** Adds the invitation of a member, and its withdrawal. */
const invitationRoutes: PageRoutes = (dashboard, context) => {
  const { db, dashboardUrl, memberLimit } = context
  const linkMails = openLinkMails(dashboard, context)

  const invite = { audit: { what: 'member.invite', target: emailField } } as const
  dashboard.post('/apps/:appId/settings/members', { config: invite }, async (request, reply) => {
    const { appId, name: appName } = visitedApp(request)
    const { email: by } = visitorOf(request)
    const email = (formOf(request).get('email') ?? '').trim()
    if (normalEmail(email) === undefined) {
      const problem = 'This is not an e-mail address in ASCII.'
      return await sendSettings(context, request, reply.code(400), { email, problem })
    }
    const invited = await inviteMember(db, appId, { email, by, memberLimit })
    if (invited.outcome !== 'invited') {
      const { status, problem } = refusals[invited.outcome]
      if (invited.outcome === 'too many mails') reply.header('Retry-After', retryAfter(invited.waitMs))
      return await sendSettings(context, request, reply.code(status), { email, problem })
    }
    request.log.info({ app_id: appId, by }, 'member invited')
    const url = `${dashboardUrl}/invitations/${appId}/${invited.secret}`
    const content = invitation({ email: invited.email, invitedBy: by, appName, url, days: invitationDays })
    linkMails.send(async () => ({ recipient: invited.email, ...content }))
    return reply.redirect(`/apps/${appId}/settings`, 303)
  })

  const withdraw = { audit: { what: 'invitation.withdraw', target: emailField } } as const
  dashboard.post('/apps/:appId/settings/invitations/withdraw', { config: withdraw }, async (request, reply) => {
    const { appId } = visitedApp(request)
    request.auditChange = await withdrawInvitation(db, appId, formOf(request).get('email') ?? '')
    return reply.redirect(`/apps/${appId}/settings`, 303)
  })
}

/** Adds the question before a member is removed, and the removal. */
const removalRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get<MemberQuery>('/apps/:appId/settings/members/remove', async (request, reply) => {
    const email = await requireMember(context, request, String(request.query.member ?? ''))
    return sendPage(reply, { title: 'Remove a member', area: 'settings', content: confirmRemoval(request, email) })
  })

  const remove = { audit: { what: 'member.remove', target: memberField } } as const
  dashboard.post<MemberQuery>('/apps/:appId/settings/members/remove', { config: remove }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const email = await requireMember(context, request, formOf(request).get('member') ?? '')
    try {
      request.auditChange = await removeMember(context.db, appId, email)
    } catch (error) {
      if (!(error instanceof LastMember)) throw error
      const problem = 'The last member cannot be removed: somebody must be able to sign in.'
      return await sendSettings(context, request, reply.code(409), { problem })
    }
    const { isOperator, email: own } = visitorOf(request)
    return reply.redirect(email === own && !isOperator ? '/' : `/apps/${appId}/settings`, 303)
  })
}

async function sendSettings(
  { db }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  refused?: { email?: string; problem: string; shown?: ShownDefaults },
): Promise<FastifyReply> {
  const { appId } = visitedApp(request)
  const people = { members: await listMembers(db, appId), invitations: await listInvitations(db, appId) }
  const content = html`${settingsContent(request, people, refused)}${importDefaultsForm(request, refused?.shown ?? (await importDefaults(db, appId)))}`
  return sendPage(reply, { title: 'Settings', area: 'settings', content })
}

async function requireMember({ db }: DashboardContext, request: FastifyRequest, email: string): Promise<string> {
  const members = await listMembers(db, visitedApp(request).appId)
  if (!members.some((member) => member.email === email)) throw new PageNotFound()
  return email
}
