import { html } from '@sluice/html'
import { invitationDays } from '@sluice/sign-in'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { signInAddress } from '../access/guard.ts'
import { sendPage, startLink } from '../layout/page.ts'

/** Answers with a page that shows who invited whom to which app, and asks for confirmation. */
export function invitationPage(
  reply: FastifyReply,
  { email, invitedBy, appName }: { email: string; invitedBy: string; appName: string },
): FastifyReply {
  return sendPage(reply, {
    title: 'Confirm your address',
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>${invitedBy} has added <strong>${email}</strong> to the members of <strong>${appName}</strong>.</p>
      <p>Members can sign in and see everything in the app. They get mails about its imports and deletions.</p>
      <p>If this is not your address, close the page: confirming may also sign you in.</p>
      <button class="main">Confirm ${email}</button>
    </form>`,
  })
}

/** Answers a new member who was not signed in. `address` is the page to open after the sign-in. */
export function acceptedPage(reply: FastifyReply, address: string): FastifyReply {
  return sendPage(reply, {
    title: 'Your address is confirmed',
    content: html`<p class="card narrow">You are a member now. <a href="${signInAddress(address)}">Sign in</a></p>`,
  })
}

export function invalidInvitationPage(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(410), {
    title: 'This link is no longer valid',
    content: html`<p class="card narrow">It was used or withdrawn, or it is older than ${invitationDays} days. The member who added you can send another link.</p>${startLink}`,
  })
}
