import { listExports } from '@sluice/exports'
import { html } from '@sluice/html'
import { profileStatistics } from '@sluice/profiles'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitedApp } from '../access/guard.ts'
import type { DashboardContext } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { deletionForm } from './deletion-parts.ts'
import { exportSection } from './export-section.ts'
import { keysContent } from './key-table.ts'
import { lookupForm } from './user-sections.ts'

/** Maximum number of exports that the list shows. */
const listLimit = 20

/** What was refused. */
interface Refused {
  problem: string
  /** The user IDs of a refused deletion, as they were sent. */
  users?: string
}

/** Answers with the page of the registered keys, the exports, and the forms that start an export or a deletion. */
export async function sendProfiles(
  { db, apiUrl, settings }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  refused?: Refused,
): Promise<FastifyReply> {
  const { appId } = visitedApp(request)
  const [statistics, exports] = await Promise.all([
    profileStatistics(db, appId, settings.PROFILE_KEY_LIMIT),
    listExports(db, apiUrl, appId, listLimit),
  ])
  const content = [
    refused && html`<p class="notice bad" role="alert">${refused.problem}</p>`,
    lookupForm(appId, ''),
    exportSection(request, exports),
    deletionForm(request, refused?.users),
    keysContent(appId, statistics),
  ]
  return sendPage(reply, { title: 'Profiles', area: 'profiles', content, scripts: ['refresh-parts.ts'] })
}
