import { normalEmail } from '@sluice/accounts'
import { recordEvent } from '@sluice/audit-log'
import { signInLink } from '@sluice/mail'
import { createLink, findLink, findVisitor, linkMinutes, redeemLink } from '@sluice/sign-in'
import type { FastifyRequest } from 'fastify'
import { actorOf } from '../access/audit.ts'
import { formOf } from '../access/forms.ts'
import { leaveSession, startSession } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { type LinkMail, openLinkMails } from '../link-mails.ts'
import { confirmPage, invalidLinkPage, requestPage, sentPage, tooManyPage } from './sign-in-pages.ts'

interface OneLink {
  Params: { secret: string }
}

/** Adds the pages for signing in by a mailed link, and for signing out. */
export const signInRoutes: PageRoutes = (dashboard, context) => {
  const guests = { config: { access: 'guests' } } as const
  const linkMails = openLinkMails(dashboard, context)

  const warnOfProxy = once(() => {
    context.log.warn(
      'requests come through a proxy, but DASHBOARD_TRUSTED_PROXIES is not set: all visitors count as one client',
    )
  })

  dashboard.get('/sign-in', guests, async (request, reply) => {
    return request.visitor === undefined ? requestPage(reply) : reply.redirect('/', 303)
  })

  const sendsLink = { ...guests.config, audit: { nothing: 'a link; its use is recorded' } } as const
  dashboard.post('/sign-in', { config: sendsLink }, async (request, reply) => {
    const typed = (formOf(request).get('email') ?? '').trim()
    const email = normalEmail(typed)
    if (email === undefined) return requestPage(reply.code(400), typed)
    if (context.trustedProxies === undefined && request.headers['x-forwarded-for'] !== undefined) warnOfProxy()
    const waitMs = await context.signInLimiter?.refuse(email, request.ip)
    if (waitMs !== undefined) return tooManyPage(reply, waitMs)
    linkMails.send(() => makeMail(context, email))
    return sentPage(reply, typed)
  })

  // Mail scanners follow links, so only the button uses up the link.
  dashboard.get<OneLink>('/sign-in/:secret', guests, async ({ params }, reply) => {
    const email = await findLink(context.db, params.secret)
    return email === undefined ? invalidLinkPage(reply) : confirmPage(reply, email)
  })

  const signsIn = { ...guests.config, audit: { what: 'sign_in', by: 'handler' } } as const
  dashboard.post<OneLink>('/sign-in/:secret', { config: signsIn }, async (request, reply) => {
    const session = await redeemLink(context.db, request.params.secret)
    if (session === undefined) return invalidLinkPage(reply)
    await recordSignIn(context, request, session)
    await startSession(context, request, reply, session)
    return reply.redirect('/', 303)
  })

  const signsOut = { ...guests.config, audit: { nothing: 'the end of the own session' } } as const
  dashboard.post('/sign-out', { config: signsOut }, async (request, reply) => {
    await leaveSession(context, request, reply)
    return reply.redirect('/sign-in', 303)
  })
}

/** Records a sign-in in the audit log of each of the person's apps; of operators, in that of the service. */
async function recordSignIn({ db }: DashboardContext, { ip, id }: FastifyRequest, session: string): Promise<void> {
  const visitor = await findVisitor(db, session)
  if (visitor === undefined) return
  const scopes = visitor.isOperator ? [undefined] : visitor.apps.map(({ appId }) => appId)
  for (const appId of scopes) {
    await recordEvent(db, { appId, who: actorOf(visitor), what: 'sign_in', address: ip, requestId: id })
  }
}

/** Returns a function that calls `act` only the first time. */
function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) act()
    isDone = true
  }
}

/** Returns the mail with a link if the address may sign in, else undefined. */
async function makeMail({ db, dashboardUrl }: DashboardContext, email: string): Promise<LinkMail | undefined> {
  const link = await createLink(db, email)
  if (link === undefined) return undefined
  return {
    recipient: link.email,
    ...signInLink({ url: `${dashboardUrl}/sign-in/${link.secret}`, minutes: linkMinutes }),
  }
}
