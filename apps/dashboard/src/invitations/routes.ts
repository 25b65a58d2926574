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

  dashboard.post<OneInvitation>('/invitations/:app/:secret', guests, async ({ params }, reply) => {
    const isAccepted = await acceptInvitation(db, appIn(params.app), params.secret)
    return isAccepted ? acceptedPage(reply) : invalidInvitationPage(reply)
  })
}
