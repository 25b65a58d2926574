import { followErrorLink } from '@sluice/imports'
import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.ts'
import { fileLinkRoute } from './file-link.ts'

/** Adds the route of the links to error files, which result mails contain. */
export function errorFileRoutes(api: FastifyInstance, { db, storage }: ApiContext): void {
  fileLinkRoute(api, '/error_files', (token) => followErrorLink(db, storage, token))
}
