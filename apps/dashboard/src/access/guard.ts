import { findApp } from '@sluice/accounts'
import { endSession, findVisitor, sessionDays, type Visitor } from '@sluice/sign-in'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DashboardContext } from '../context.ts'
import { openCookies, type SignedCookies } from './cookies.ts'

/** An app as pages name it. */
export interface AppName {
  appId: number
  name: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whom the route lets in: `anyone` without a look at who it is (style sheets), `guests` as well as those who are signed in
     * (the sign-in pages), `operators` only. Without it, those who are signed in, and may see the app of `:appId`, if any.
     */
    access?: 'anyone' | 'guests' | 'operators'
  }
  interface FastifyRequest {
    /** Who is signed in; read by {@link visitorOf}. */
    visitor: Visitor | undefined
    /** The app of `:appId`; read by {@link visitedApp}. */
    visitedApp: AppName | undefined
    /** What forms of this visitor must carry. */
    formToken: string
  }
  interface FastifyInstance {
    signedCookies: SignedCookies
  }
}

/** What somebody asks for who may not know whether it is there. */
export class PageNotFound extends Error {
  override readonly name = 'PageNotFound'
  readonly statusCode = 404
}

/**
 * Lets nobody see what is not theirs: routes are closed unless they say otherwise. Another one's app is answered as one that
 * is not there.
 */
export function guardRoutes(dashboard: FastifyInstance, { db, signer, dashboardUrl }: DashboardContext): void {
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
    if (request.visitor === undefined) return askToSignIn(request, reply)
    if (access === 'operators' && !request.visitor.isOperator) throw new PageNotFound()
    const { appId } = request.params as { appId?: string }
    if (appId !== undefined) request.visitedApp = await appForVisitor(request.visitor, appId)
  })

  /** Who is not signed in has forms as well: a cookie of their own ties them to the browser. */
  async function guest(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const known = await cookies.read(request, 'guest')
    if (known !== undefined) return known
    const made = crypto.randomUUID()
    await cookies.write(reply, 'guest', made)
    return made
  }

  async function appForVisitor(visitor: Visitor, idInAddress: string): Promise<AppName> {
    const appId = /^[1-9]\d{0,8}$/.test(idInAddress) ? Number(idInAddress) : 0
    const own = visitor.apps.find((app) => app.appId === appId)
    const app = own ?? (visitor.isOperator ? await findApp(db, appId) : undefined)
    if (app === undefined) throw new PageNotFound()
    return app
  }
}

/** Pages lead to the sign-in page; scripts get an answer that they understand. */
function askToSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isPage = request.headers.accept?.includes('text/html') ?? false
  return isPage ? reply.redirect('/sign-in', 303) : reply.code(401).send({ status: 'unauthorized' })
}

/** Keeps somebody signed in, in place of whoever was before. */
export async function startSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  secret: string,
): Promise<void> {
  await endCurrent(context, request)
  await reply.server.signedCookies.write(reply, 'session', secret, sessionDays * 24 * 60 * 60)
}

/** Signs out, in this browser and in the database. */
export async function leaveSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await endCurrent(context, request)
  reply.server.signedCookies.clear(reply, 'session')
}

async function endCurrent({ db }: DashboardContext, request: FastifyRequest): Promise<void> {
  const session = await request.server.signedCookies.read(request, 'session')
  if (session !== undefined) await endSession(db, session)
}

/** Who asks. */
export function visitorOf({ visitor, routeOptions }: FastifyRequest): Visitor {
  if (visitor === undefined) throw new Error(`${routeOptions.url} lets in who is not signed in`)
  return visitor
}

/** The app that the address names. */
export function visitedApp({ visitedApp: app, routeOptions }: FastifyRequest): AppName {
  if (app === undefined) throw new Error(`${routeOptions.url} names no app`)
  return app
}
