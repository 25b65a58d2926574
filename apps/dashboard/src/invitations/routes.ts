import { audited } from '@sluice/audit-log'
import { acceptInvitation, findInvitation } from '@sluice/sign-in'
import { startSession } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { recordSignIn } from '../sign-in/record-sign-in.ts'
import { acceptedPage, invalidInvitationPage, invitationPage } from './invitation-pages.ts'

interface OneInvitation {
  Params: { app: string; secret: string }
}

/** Adds the pages that the link of an invitation opens, on which a new member confirms the address and signs in. */
export const invitationRoutes: PageRoutes = (dashboard, context) => {
  const { db } = context
  const guests = { config: { access: 'guests' } } as const
  const appIn = (id: string) => (/^[1-9]\d{0,8}$/.test(id) ? Number(id) : 0)

  // Mail scanners follow links, so only the button uses up the link.
  dashboard.get<OneInvitation>('/invitations/:app/:secret', guests, async ({ params }, reply) => {
    const found = await findInvitation(db, appIn(params.app), params.secret)
    return found === undefined ? invalidInvitationPage(reply) : invitationPage(reply, found)
  })

  const signsIn = context.mailsLinks ?? true
  const accepts = { ...guests.config, audit: { what: 'invitation.accept', by: 'handler' } } as const
  dashboard.post<OneInvitation>('/invitations/:app/:secret', { config: accepts }, async (request, reply) => {
    const { params, ip, id } = request
    const appId = appIn(params.app)
    const found = await findInvitation(db, appId, params.secret)
    if (found === undefined) return invalidInvitationPage(reply)
    const who = { type: 'guest', name: found.email } as const
    const event = { appId, who, what: 'invitation.accept', address: ip, requestId: id } as const
    const accept = () => acceptInvitation(db, appId, params.secret, { signsIn })
    const accepted = await audited(db, event, accept, (done) => ({ outcome: done ? 'done' : 'refused' }))
    if (accepted === undefined) return invalidInvitationPage(reply)
    if (request.visitor?.email === found.email) return reply.redirect(`/apps/${appId}`, 303)
    if (accepted.session === undefined) return acceptedPage(reply, `/apps/${appId}`)
    await recordSignIn(context, request, accepted.session)
    await startSession(context, request, reply, accepted.session)
    return reply.redirect(`/apps/${appId}`, 303)
  })
}
