import { type Html, html } from '@sluice/html'
import { retryAfter } from '@sluice/rate-limits'
import { linkMinutes } from '@sluice/sign-in'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { signInAddress } from '../access/guard.ts'
import { duration } from '../layout/format.ts'
import { sendPage, startLink } from '../layout/page.ts'

/** How people may sign in. */
export interface WaysToSignIn {
  /** The name of the OpenID Connect provider, if there is one. */
  provider: string | undefined
  mailsLinks: boolean
  /** Where the mails of a local stack can be read. */
  inboxUrl: string | undefined
}

/**
 * Answers with the sign-in page. `target` is the page of the dashboard to open after the sign-in, and `refused` an
 * e-mail address that is not valid.
 */
export function requestPage(reply: FastifyReply, ways: WaysToSignIn, target: string, refused?: string): FastifyReply {
  return sendPage(reply, {
    title: 'Sign in',
    content: [
      ways.provider && providerCard(ways.provider, target),
      ways.mailsLinks && [linkForm(reply, target, refused), inboxLink(ways)],
    ],
  })
}

function providerCard(provider: string, target: string): Html {
  return html`<div class="card narrow">
    <p>Members of an app and operators sign in with their account.</p>
    <p><a class="button main" href="/sign-in/provider?return=${encodeURIComponent(target)}">Sign in with ${provider}</a></p>
  </div>`
}

function linkForm(reply: FastifyReply, target: string, refused: string | undefined): Html {
  return html`<form method="post" action="/sign-in" class="card narrow">
    ${formTokenField(reply.request)}
    <input type="hidden" name="return" value="${target}">
    <p>Members of an app and operators get a link by e-mail that signs them in.</p>
    <label>E-mail address
      <input type="email" name="email" autocomplete="email" required maxlength="254" value="${refused}"
        ${refused !== undefined && html`aria-invalid="true" aria-describedby="problem"`}>
    </label>
    ${refused !== undefined && html`<p class="problem" id="problem">This is not an e-mail address.</p>`}
    <button class="main">Send me a link</button>
  </form>`
}

function inboxLink({ inboxUrl }: WaysToSignIn): Html | undefined {
  if (inboxUrl === undefined) return undefined
  return html`<p class="narrow">Mails of this stack stay on this machine: <a href="${inboxUrl}">open the inbox</a>.</p>`
}

/** Answers a request for a link. The page must be the same for known and unknown addresses. */
export function sentPage(
  reply: FastifyReply,
  ways: WaysToSignIn,
  { email, target }: { email: string; target: string },
): FastifyReply {
  return sendPage(reply, {
    title: 'Check your mail',
    content: [
      html`<div class="card narrow">
      <p>If <strong>${email}</strong> belongs to a member of an app or an operator, a link was sent there. It works once, within ${linkMinutes} minutes.</p>
      <p><a href="${signInAddress(target)}">Use another address</a></p>
    </div>`,
      inboxLink(ways),
    ],
  })
}

export function tooManyPage(reply: FastifyReply, waitMs: number): FastifyReply {
  return sendPage(reply.code(429).header('Retry-After', retryAfter(waitMs)), {
    title: 'Too many links',
    content: html`<p class="card narrow">Too many links were requested. Please try again in ${duration(Math.max(1000, waitMs))}.</p>${startLink}`,
  })
}

/**
 * Answers with a page that shows the e-mail address of the link. Otherwise an attacker could lure a visitor into the
 * attacker's own account, and the visitor would enter data there.
 */
export function confirmPage(reply: FastifyReply, email: string): FastifyReply {
  return sendPage(reply, {
    title: 'Sign in',
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>Sign in as <strong>${email}</strong>? The link works once. If this is not your address, close the page.</p>
      <button class="main">Sign in</button>
    </form>`,
  })
}

export function invalidLinkPage(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(410), {
    title: 'This link is no longer valid',
    content: html`<div class="card narrow">
      <p>It was used, or it is older than ${linkMinutes} minutes.</p>
      <p><a href="/sign-in">Request a new link</a></p>
    </div>`,
  })
}
