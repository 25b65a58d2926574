import type { FastifyInstance } from 'fastify'
import { PageNotFound } from '../access/guard.ts'
import { findAsset, version } from './files.ts'

/** Style sheet and scripts: kept by browsers for good, since another state of them has another address. */
export function assetRoutes(dashboard: FastifyInstance): void {
  dashboard.get<{ Params: { version: string; name: string } }>(
    '/assets/:version/:name',
    { config: { access: 'anyone' } },
    async ({ params }, reply) => {
      const asset = findAsset(params.name)
      if (asset === undefined) throw new PageNotFound()
      // While one process after the other is replaced, a page of the one may ask the other.
      const caching = params.version === version ? 'public, max-age=31536000, immutable' : 'no-store'
      return reply.header('Cache-Control', caching).type(asset.type).send(asset.body)
    },
  )
}
