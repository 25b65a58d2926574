import type { FastifyRequest } from 'fastify'
import { PageNotFound, visitedApp } from '../access/guard.ts'
import type { DashboardContext } from '../context.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

/** The parameters of a route about one import. */
export interface OneImport {
  Params: { importId: string }
}

/** Reads the import that the address names. Throws {@link PageNotFound} if the app has no such import. */
export async function snapshotFor(context: DashboardContext, request: FastifyRequest<OneImport>): Promise<Snapshot> {
  const found = await takeSnapshot(context, visitedApp(request).appId, request.params.importId)
  if (found === undefined) throw new PageNotFound()
  return found
}
