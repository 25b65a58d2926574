import { audited } from '@sluice/audit-log'
import {
  type Identity,
  type IdentityProvider,
  isOfProvider,
  type ProviderSignIn,
  ProviderUnavailable,
  SignInRefused,
  signInAtProvider,
} from '@sluice/sign-in'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { startSession } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { callbackPath } from './provider.ts'
import { noSignInPage, refusedPage, signedOutPage, unavailablePage } from './provider-pages.ts'
import { recordSignIn } from './record-sign-in.ts'
import { tooManyPage } from './sign-in-pages.ts'

/** How long the cookie lives that binds a sign-in to the browser, seconds. */
const cookieSeconds = 10 * 60

/** Adds the pages for signing in and out at an OpenID Connect provider, if there is one. */
export const providerRoutes: PageRoutes = (dashboard, context) => {
  const { provider } = context
  if (provider === undefined) return
  const guests = { config: { access: 'guests' } } as const

  dashboard.get<{ Querystring: { return?: string } }>('/sign-in/provider', guests, async (request, reply) => {
    const target = request.query.return
    const address = await atProvider(request, reply, provider, async () => {
      return await provider.begin(await browserOf(request, reply), typeof target === 'string' ? target : '/')
    })
    return address === undefined ? reply : reply.redirect(address, 303)
  })

  const signsIn = { ...guests.config, audit: { what: 'sign_in', by: 'handler' } } as const
  dashboard.get(callbackPath, { config: signsIn }, async (request, reply) => {
    const current = await dashboard.signedCookies.read(request, 'session')
    // Confirmations do not count: people behind one network address may be many, and each confirms every few minutes.
    const isConfirmation = current !== undefined && (await isOfProvider(context.db, current))
    const waitMs = isConfirmation ? undefined : await context.signInLimiter?.refuse(undefined, request.ip)
    if (waitMs !== undefined) return tooManyPage(reply, waitMs)
    const finished = await atProvider(request, reply, provider, async () => {
      return await provider.finish(await browserOf(request, reply), queryOf(request))
    })
    if (finished === undefined) return reply
    const { identity, returnPath } = finished
    const result = await signInAtProvider(context.db, identity, current)
    if (result.outcome !== 'signed in' && result.outcome !== 'confirmed') {
      request.log.warn({ outcome: result.outcome, subject: identity.subject }, 'sign-in at the provider refused')
      if (recordedRefusals.includes(result.outcome)) await recordRefusal(context, request, identity, result)
      return noSignInPage(reply, provider.name, result.outcome, identity.email)
    }
    if (result.outcome === 'signed in') {
      await recordSignIn(context, request, result.secret)
      await startSession(context, request, reply, result.secret)
    }
    return reply.redirect(returnPath, 303)
  })

  dashboard.get('/sign-out/provider', guests, async (request, reply) => {
    const address = request.visitor === undefined ? await provider.signOutUrl() : undefined
    return address === undefined ? reply.redirect('/sign-in', 303) : signedOutPage(reply, provider.name, address)
  })
}

/** Returns the text of the cookie that binds a sign-in to the browser. Sets the cookie, or extends its life. */
async function browserOf(request: FastifyRequest, reply: FastifyReply): Promise<string> {
  const cookies = request.server.signedCookies
  const browser = (await cookies.read(request, 'browser')) ?? crypto.randomUUID()
  await cookies.write(reply, 'browser', browser, cookieSeconds)
  return browser
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URL(url, 'http://dashboard.invalid').searchParams
}

/** Runs a step that needs the provider. If it fails, answers with a page that says so, and returns undefined. */
async function atProvider<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  { name }: IdentityProvider,
  step: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof SignInRefused) {
      request.log.warn({ err: error }, 'sign-in at the provider failed')
      refusedPage(reply, name)
    } else if (error instanceof ProviderUnavailable) {
      request.log.error({ err: error }, 'the OpenID Connect provider cannot be used')
      unavailablePage(reply, name)
    } else throw error
    return undefined
  }
}

/**
 * Refusals that hint at an attack. Others are not recorded: anyone with an account at the provider could fill the log.
 */
const recordedRefusals: readonly ProviderSignIn['outcome'][] = ['another account', 'another address']

/** Records a refusal in the audit log of the service. */
async function recordRefusal(
  { db }: DashboardContext,
  { ip, id }: FastifyRequest,
  { email, issuer, subject }: Identity,
  { outcome }: ProviderSignIn,
): Promise<void> {
  const who = { type: 'guest', name: email ?? '' } as const
  const target = `${outcome}: ${subject} of ${issuer}`
  const event = { appId: undefined, who, what: 'sign_in', target, address: ip, requestId: id } as const
  await audited(
    db,
    event,
    async () => {},
    () => ({ outcome: 'refused' }),
  )
}
