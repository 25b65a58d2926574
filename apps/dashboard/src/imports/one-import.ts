import { type Html, html } from '@sluice/html'
import { type ImportDetails, showDetails, TooManyWaiting } from '@sluice/imports'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PageNotFound, visitedApp } from '../access/guard.ts'
import type { DashboardContext } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

/** The parameters of a route about one import. */
export interface OneImport {
  Params: { importId: string }
}

/** Returns the import that an address names, for the audit log. */
export const importParameter = ({ params }: FastifyRequest): string => (params as OneImport['Params']).importId

/** Reads a snapshot of the import that the address names. Throws {@link PageNotFound} if the app has no such import. */
export async function snapshotFor(context: DashboardContext, request: FastifyRequest<OneImport>): Promise<Snapshot> {
  const found = await takeSnapshot(context, visitedApp(request).appId, request.params.importId)
  if (found === undefined) throw new PageNotFound()
  return found
}

/** Reads the import that the address names, without its error rows. Throws {@link PageNotFound} as above. */
export async function detailsFor(
  { db, apiUrl }: DashboardContext,
  request: FastifyRequest<OneImport>,
): Promise<ImportDetails> {
  const found = await showDetails(db, apiUrl, visitedApp(request).appId, request.params.importId)
  if (found === undefined) throw new PageNotFound()
  return found
}

/** Answers with a page that says why an import's file was not imported again. The caller sets the status. */
export function sendRefused(reply: FastifyReply, title: string, address: string, reason: Error): FastifyReply {
  return sendPage(reply, {
    title,
    area: 'imports',
    content: html`<p>${title}: ${reason.message}.${heldLink(heldAddress(reply.request, reason))}</p><p><a href="${address}">Go back</a></p>`,
  })
}

/** Returns the address of the held import because of which too many imports wait; undefined if none is held. */
export function heldAddress(request: FastifyRequest, error: Error): string | undefined {
  if (!(error instanceof TooManyWaiting) || error.heldId === null) return undefined
  return `/apps/${visitedApp(request).appId}/imports/${error.heldId}`
}

/** Renders a link to the held import, if there is one. */
export function heldLink(address: string | undefined): Html | undefined {
  return address === undefined ? undefined : html` <a href="${address}">See the held import</a>`
}
