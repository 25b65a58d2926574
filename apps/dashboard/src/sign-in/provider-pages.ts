import { type Content, html } from '@sluice/html'
import type { ProviderSignIn } from '@sluice/sign-in'
import type { FastifyReply } from 'fastify'
import { sendPage } from '../layout/page.ts'

/** Answers that the provider did not sign the person in, or that its answer is not valid. */
export function refusedPage(reply: FastifyReply, provider: string): FastifyReply {
  return sendPage(reply.code(400), {
    title: 'You are not signed in',
    content: card(html`<p>The sign-in with ${provider} was refused or took too long, or it began in another browser.</p>
      <p><a href="/sign-in">Sign in again</a></p>`),
  })
}

/** Answers that the provider does not work. The log says why. */
export function unavailablePage(reply: FastifyReply, provider: string): FastifyReply {
  return sendPage(reply.code(503).header('Retry-After', 10), {
    title: 'Signing in does not work at the moment',
    content: card(html`<p>${provider} did not answer as expected. Please try again in a minute.</p>
      <p>Operators find the reason in the log, under the request ID <code>${reply.request.id}</code>.</p>
      <p><a href="/sign-in">Sign in again</a></p>`),
  })
}

/** Answers a person whom the provider has identified, but who may not sign in. */
export function noSignInPage(
  reply: FastifyReply,
  provider: string,
  reason: Exclude<ProviderSignIn['outcome'], 'signed in' | 'confirmed'>,
  email: string | undefined,
): FastifyReply {
  const reasons = {
    'not verified': html`<p>${provider} has not verified an e-mail address of yours. Confirm your address there, then sign in again.</p>`,
    'no access': html`<p><strong>${email}</strong> belongs neither to a member of an app nor to an operator. Ask a member of your app to add you.</p>`,
    'another account': html`<p><strong>${email}</strong> belongs to another account at ${provider}. Ask an operator to remove the address and to add it again.</p>`,
    'another address': html`<p>Your account at ${provider} had another e-mail address when you first signed in. Ask an operator to remove that address, and to add <strong>${email}</strong>.</p>`,
  }
  return sendPage(reply.code(403), {
    title: 'You may not sign in',
    content: card(html`${reasons[reason]}<p><a href="/sign-in">Sign in again</a></p>`),
  })
}

/** Answers that the person is signed out here, and opens the page of the provider that signs them out there. */
export function signedOutPage(reply: FastifyReply, provider: string, address: string): FastifyReply {
  return sendPage(reply, {
    title: 'You are signed out',
    goTo: address,
    content:
      card(html`<p>You are signed out of Sluice. If the page of ${provider} does not open, sign out there yourself.</p>
      <p><a class="button" href="${address}">Sign out of ${provider}</a></p>`),
  })
}

function card(content: Content): Content {
  return html`<div class="card narrow">${content}</div>`
}
