import type { FastifyInstance } from 'fastify'
import { PageNotFound } from '../access/guard.ts'
import { findAsset, version } from './files.ts'

/**
 * Adds the routes of style sheet and scripts. Browsers may cache them without limit, because a new version has a new
 * address.
 */
export function assetRoutes(dashboard: FastifyInstance): void {
  dashboard.get<{ Params: { version: string; '*': string } }>(
    '/assets/:version/*',
    { config: { access: 'anyone' } },
    async ({ params }, reply) => {
      const asset = findAsset(params['*'])
      if (asset === undefined) throw new PageNotFound()
      // During a rolling update, a page of one version may request assets from a process of another version.
      const caching = params.version === version ? 'public, max-age=31536000, immutable' : 'no-store'
      return reply.header('Cache-Control', caching).type(asset.type).send(asset.body)
    },
  )
}
