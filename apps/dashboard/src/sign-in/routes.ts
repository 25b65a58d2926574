import { normalEmail } from '@sluice/accounts'
import { signInLink } from '@sluice/mail'
import { createLink, linkMinutes, redeemLink } from '@sluice/sign-in'
import { formOf } from '../access/forms.ts'
import { leaveSession, startSession } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { confirmPage, deadLinkPage, requestPage, sentPage, tooManyPage } from './pages.ts'

/** Sign-in by a link that is mailed, and sign-out. */
export const signInRoutes: PageRoutes = (dashboard, context) => {
  const guests = { config: { access: 'guests' } } as const
  const mailing = new Set<Promise<void>>()
  dashboard.addHook('onClose', async () => {
    await Promise.all(mailing)
  })

  dashboard.get('/sign-in', guests, async (request, reply) => {
    return request.visitor === undefined ? requestPage(reply) : reply.redirect('/', 303)
  })

  dashboard.post('/sign-in', guests, async (request, reply) => {
    const typed = (formOf(request).get('email') ?? '').trim()
    const email = normalEmail(typed)
    if (email === undefined) return requestPage(reply.code(400), typed)
    const wait = await context.signInLimiter?.refuse(email, request.ip)
    if (wait !== undefined) return tooManyPage(reply, wait)
    // Behind the answer: how long it takes would tell whether the address is known.
    const mail = mailLink(context, email).finally(() => mailing.delete(mail))
    mailing.add(mail)
    return sentPage(reply, typed)
  })

  // Mail scanners follow links: only the button uses it up.
  dashboard.get('/sign-in/:secret', guests, async (_, reply) => confirmPage(reply))

  dashboard.post<{ Params: { secret: string } }>('/sign-in/:secret', guests, async (request, reply) => {
    const session = await redeemLink(context.db, request.params.secret)
    if (session === undefined) return deadLinkPage(reply)
    await startSession(context, request, reply, session)
    return reply.redirect('/', 303)
  })

  dashboard.post('/sign-out', guests, async (request, reply) => {
    await leaveSession(context, request, reply)
    return reply.redirect('/sign-in', 303)
  })
}

/** Mails a link to whoever may sign in. Not by the outbox: the link would lie there readable, and a late one is of no use. */
async function mailLink({ db, mails, dashboardUrl, log }: DashboardContext, email: string): Promise<void> {
  try {
    const link = await createLink(db, email)
    if (link === undefined) return
    const content = signInLink({ url: `${dashboardUrl}/sign-in/${link.secret}`, minutes: linkMinutes })
    await mails.deliver({ recipient: link.email, id: crypto.randomUUID(), ...content })
  } catch (error) {
    log.error({ err: error }, 'sign-in mail could not be sent')
  }
}
