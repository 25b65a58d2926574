import { normalEmail } from '@sluice/accounts'
import { signInLink } from '@sluice/mail'
import { createLink, findLink, linkMinutes, localPath, redeemLink } from '@sluice/sign-in'
import { formOf } from '../access/forms.ts'
import { leaveSession, PageNotFound, startSession } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { type LinkMail, openLinkMails } from '../link-mails.ts'
import { recordSignIn } from './record-sign-in.ts'
import { confirmPage, invalidLinkPage, requestPage, sentPage, tooManyPage } from './sign-in-pages.ts'

interface OneLink {
  Params: { secret: string }
}

const proxyWarning =
  'requests come through a proxy, but DASHBOARD_TRUSTED_PROXIES is not set: all visitors count as one client'

/** Adds the pages for signing in by a mailed link, and for signing out. */
export const signInRoutes: PageRoutes = (dashboard, context) => {
  const guests = { config: { access: 'guests' } } as const
  const ways = { provider: context.provider?.name, mailsLinks: context.mailsLinks ?? true, inboxUrl: context.inboxUrl }
  const linkMails = openLinkMails(dashboard, context)
  const warnOfProxy = once(() => context.log.warn(proxyWarning))

  dashboard.get<{ Querystring: { return?: string } }>('/sign-in', guests, async (request, reply) => {
    const target = localPath(String(request.query.return ?? '/'))
    return request.visitor === undefined ? requestPage(reply, ways, target) : reply.redirect(target, 303)
  })

  const unrecordedBecause = 'strangers could fill the log; the use of the link is recorded'
  const sendsLink = { ...guests.config, audit: { unrecordedBecause } } as const
  dashboard.post('/sign-in', { config: sendsLink }, async (request, reply) => {
    // second-day.md §6, SIGN_IN_MAIL.
    if (!ways.mailsLinks) throw new PageNotFound()
    const form = formOf(request)
    const typed = (form.get('email') ?? '').trim()
    const target = localPath(form.get('return') ?? '/')
    const email = normalEmail(typed)
    if (email === undefined) return requestPage(reply.code(400), ways, target, typed)
    if (context.trustedProxies === undefined && request.headers['x-forwarded-for'] !== undefined) warnOfProxy()
    const waitMs = await context.signInLimiter?.refuse(email, request.ip)
    if (waitMs !== undefined) return tooManyPage(reply, waitMs)
    linkMails.send(() => makeMail(context, email, target))
    return sentPage(reply, ways, { email: typed, target })
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
    await recordSignIn(context, request, session.secret)
    await startSession(context, request, reply, session.secret)
    return reply.redirect(session.returnPath, 303)
  })

  const signsOut = { ...guests.config, audit: { unrecordedBecause: 'it only ends the own session' } } as const
  dashboard.post('/sign-out', { config: signsOut }, async (request, reply) => {
    const wasOfProvider = await leaveSession(context, request, reply)
    const alsoThere = wasOfProvider && context.provider !== undefined
    return reply.redirect(alsoThere ? '/sign-out/provider' : '/sign-in', 303)
  })
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
async function makeMail(
  { db, dashboardUrl }: DashboardContext,
  email: string,
  target: string,
): Promise<LinkMail | undefined> {
  const link = await createLink(db, email, target)
  if (link === undefined) return undefined
  return {
    recipient: link.email,
    ...signInLink({ url: `${dashboardUrl}/sign-in/${link.secret}`, minutes: linkMinutes }),
  }
}
