import { audited } from '@sluice/audit-log'
import { acceptInvitation, findInvitation } from '@sluice/sign-in'
import type { PageRoutes } from '../context.ts'
import { acceptedPage, invalidInvitationPage, invitationPage } from './invitation-pages.ts'

interface OneInvitation {
  Params: { app: string; secret: string }
}

/** Adds the pages that the link of an invitation opens, on which a new member confirms the address. */
export const invitationRoutes: PageRoutes = (dashboard, { db }) => {
  const guests = { config: { access: 'guests' } } as const
  const appIn = (id: string) => (/^[1-9]\d{0,8}$/.test(id) ? Number(id) : 0)

  // Mail scanners follow links, so only the button uses up the link.
  dashboard.get<OneInvitation>('/invitations/:app/:secret', guests, async ({ params }, reply) => {
    const found = await findInvitation(db, appIn(params.app), params.secret)
    return found === undefined ? invalidInvitationPage(reply) : invitationPage(reply, found)
  })

  const accepts = { ...guests.config, audit: { what: 'invitation.accept', by: 'handler' } } as const
  dashboard.post<OneInvitation>('/invitations/:app/:secret', { config: accepts }, async ({ params, ip, id }, reply) => {
    const appId = appIn(params.app)
    const found = await findInvitation(db, appId, params.secret)
    if (found === undefined) return invalidInvitationPage(reply)
    const who = { type: 'guest', name: found.email } as const
    const event = { appId, who, what: 'invitation.accept', address: ip, requestId: id } as const
    const accept = () => acceptInvitation(db, appId, params.secret)
    const isAccepted = await audited(db, event, accept, (done) => ({ outcome: done ? 'done' : 'refused' }))
    return isAccepted ? acceptedPage(reply) : invalidInvitationPage(reply)
  })
}
