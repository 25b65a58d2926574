import { findApp } from '@sluice/accounts'
import type { Database } from '@sluice/database'
import { endSession, findVisitor, isOfProvider, sessionDays, type Visitor } from '@sluice/sign-in'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DashboardContext } from '../context.ts'
import { openCookies, type SignedCookies } from './cookies.ts'
import { isReading } from './forms.ts'

/** The ID and the name of an app. */
export interface AppName {
  appId: number
  name: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Who may use the route. `anyone`: the session is not even read (style sheets). `guests`: people with or without a
     * session (the sign-in pages). `operators`: only operators. By default, only people who are signed in and may see
     * the app of `:appId`, if the route has one.
     */
    access?: 'anyone' | 'guests' | 'operators'
  }
  interface FastifyRequest {
    /** The person who is signed in. Routes use {@link visitorOf}. */
    visitor: Visitor | undefined
    /** The app of `:appId`. Routes use {@link visitedApp}. */
    visitedApp: AppName | undefined
    /** The token that forms of this visitor must contain. */
    formToken: string
  }
  interface FastifyInstance {
    signedCookies: SignedCookies
  }
}

/** The page does not exist, or the visitor may not see it. The answer does not reveal which. */
export class PageNotFound extends Error {
  override readonly name = 'PageNotFound'
  readonly statusCode = 404
}

/**
 * Restricts every route to visitors who may use it. Routes are closed by default. An app that the visitor may not see
 * is answered like an app that does not exist.
 */
export function guardRoutes(dashboard: FastifyInstance, context: DashboardContext): void {
  const { db, signer, dashboardUrl, provider } = context
  const cookies = openCookies(signer, dashboardUrl)
  dashboard.decorate('signedCookies', cookies)
  dashboard.decorateRequest('visitor', undefined)
  dashboard.decorateRequest('visitedApp', undefined)
  dashboard.decorateRequest('formToken', '')

  dashboard.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config
    if (access === 'anyone' || request.is404) return
    const session = await cookies.read(request, 'session')
    request.formToken = await signer.sign('form', session ?? (await guest(request, reply)))
    request.visitor = session === undefined ? undefined : await findVisitor(db, session)
    if (access === 'guests') return
    if (session !== undefined && (await mustConfirm(request, session))) {
      return reply.redirect(`/sign-in/provider?return=${encodeURIComponent(request.url)}`, 303)
    }
    if (request.visitor === undefined) return askToSignIn(request, reply)
    if (access === 'operators' && !request.visitor.isOperator) throw new PageNotFound()
    const { appId } = request.params as { appId?: string }
    if (appId !== undefined) request.visitedApp = await appForVisitor(db, request.visitor, appId)
  })

  /**
   * Returns the ID of a visitor without a session. It is kept in a cookie, and ties the visitor's forms to the browser.
   */
  async function guest(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const known = await cookies.read(request, 'guest')
    if (known !== undefined) return known
    const id = crypto.randomUUID()
    await cookies.write(reply, 'guest', id)
    return id
  }

  /**
   * Whether to send the browser to the provider before it gets the page. The provider must confirm sessions every few
   * minutes; people who are still signed in at the provider do not notice. Forms and scripts cannot follow a redirect
   * to the provider, so pages ask for the confirmation early.
   */
  async function mustConfirm(request: FastifyRequest, session: string): Promise<boolean> {
    if (provider === undefined || !isNavigation(request)) return false
    return request.visitor === undefined ? await isOfProvider(db, session) : request.visitor.mustConfirmSoon
  }
}

async function appForVisitor(db: Database, visitor: Visitor, idInAddress: string): Promise<AppName> {
  const appId = /^[1-9]\d{0,8}$/.test(idInAddress) ? Number(idInAddress) : 0
  const own = visitor.apps.find((app) => app.appId === appId)
  const app = own ?? (visitor.isOperator ? await findApp(db, appId) : undefined)
  if (app === undefined) throw new PageNotFound()
  return app
}

/** Whether a browser opens a page, as opposed to a request of a script or a form. */
function isNavigation(request: FastifyRequest): boolean {
  const { accept = '', 'sec-fetch-dest': destination = 'document' } = request.headers
  return isReading(request) && destination === 'document' && accept.includes('text/html')
}

/** Returns the address of the sign-in page that leads back to a page of the dashboard. */
export function signInAddress(page: string): string {
  return page === '/' ? '/sign-in' : `/sign-in?return=${encodeURIComponent(page)}`
}

/** Redirects requests for pages to the sign-in page, and answers scripts with JSON. */
function askToSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isPage = request.headers.accept?.includes('text/html') ?? false
  return isPage
    ? reply.redirect(signInAddress(isReading(request) ? request.url : '/'), 303)
    : reply.code(401).header('WWW-Authenticate', 'Session realm="Sluice"').send({ status: 'unauthorized' })
}

/** Starts a session in the browser, and ends the preceding session if there is one. */
export async function startSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  secret: string,
): Promise<void> {
  await endCurrent(context, request)
  await reply.server.signedCookies.write(reply, 'session', secret, sessionDays * 24 * 60 * 60)
}

/** Ends the session in the browser and in the database. Returns whether the session began at a provider. */
export async function leaveSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const wasOfProvider = await endCurrent(context, request)
  reply.server.signedCookies.clear(reply, 'session')
  return wasOfProvider
}

async function endCurrent({ db }: DashboardContext, request: FastifyRequest): Promise<boolean> {
  const session = await request.server.signedCookies.read(request, 'session')
  return session !== undefined && (await endSession(db, session))
}

/** Returns the person who is signed in. Throws if the route also accepts guests. */
export function visitorOf({ visitor, routeOptions }: FastifyRequest): Visitor {
  if (visitor === undefined) throw new Error(`${routeOptions.url} is open to guests`)
  return visitor
}

/** Returns the app that the address names. Throws if the route has no `:appId`. */
export function visitedApp({ visitedApp: app, routeOptions }: FastifyRequest): AppName {
  if (app === undefined) throw new Error(`${routeOptions.url} names no app`)
  return app
}
