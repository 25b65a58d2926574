import { errors, type ImportList, type ImportListRequest, type JsonObject, parseImportList } from '@sluice/contract'
import { pageOfImports } from '@sluice/imports'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'

const path = '/v3/user_profiles/bulk_import'

/** Adds the list of an app's imports, an extension. It has filters and a cursor; a link leads to the next page. */
export function importListRoutes(api: FastifyInstance, context: ApiContext): void {
  const { db, apiUrl } = context
  const onRequest = authentication(context)

  api.get<{ Querystring: JsonObject }>(path, { onRequest }, async (request, reply) => {
    const parsed = parseImportList(request.query)
    if ('messages' in parsed) return answer(reply, errors.badRequest(...parsed.messages))
    const { imports, nextCursor } = await pageOfImports(db, apiUrl, appOf(request), parsed.request)
    if (nextCursor !== null) {
      reply.header('Link', `<${apiUrl}${path}?${nextQuery(parsed.request, nextCursor)}>; rel="next"`)
    }
    const list: ImportList = { imports, next_cursor: nextCursor }
    return list
  })
}

/** Returns the query of the next page, with the same filters. */
function nextQuery({ state, source, limit }: ImportListRequest, cursor: string): URLSearchParams {
  return new URLSearchParams({
    ...(state !== undefined && { state }),
    ...(source !== undefined && { source }),
    limit: String(limit),
    cursor,
  })
}
