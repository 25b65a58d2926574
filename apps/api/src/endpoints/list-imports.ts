import { type ImportListRequest, importCursor, importList, importListQuery } from '@sluice/contract'
import { pageOfImports } from '@sluice/imports'
import { endpoint, wrong } from '../endpoint.ts'
import { exampleImport } from './get-import.ts'

const path = '/v3/user_profiles/bulk_import'

/**
 * Lists an app's imports with filters and a cursor; a link leads to the next page (second-day.md §3, List of imports).
 */
export const listImports = endpoint({
  id: 'listImports',
  route: `GET ${path}`,
  tag: 'Bulk import',
  summary: 'Imports of the app',
  description: [
    'The imports of all upload routes, newest request first. If there is a next page, `next_cursor` and the',
    'header `Link` lead to it. Imports that are added meanwhile do not move the following pages.',
    'A page has fewer imports than `limit` if they have many columns.',
  ].join('\n'),
  extension: true,
  limit: { function: 'import_list', rate: '1000/60s', counts: 'Lists of imports' },
  query: importListQuery,
  answer: {
    status: 200,
    description: 'A page of the list.',
    headers: { Link: { description: 'The next page, if there is one (RFC 8288).', schema: { type: 'string' } } },
    schema: importList,
    example: { imports: [exampleImport], next_cursor: importCursor(1024) },
  },
  refusals: [
    wrong('state', 'The state is not known.', { state: 'done' }),
    wrong('source', 'The upload route is not known.', { source: 'mail' }),
    wrong('limit', 'The limit is out of range.', { limit: '0' }),
    wrong('cursor', 'The cursor is not from this list.', { cursor: 'x' }),
  ],
  serve:
    ({ db, apiUrl }) =>
    async ({ appId, query, reply }) => {
      const { imports, nextCursor } = await pageOfImports(db, apiUrl, appId, query)
      if (nextCursor !== null) reply.header('Link', `<${apiUrl}${path}?${nextQuery(query, nextCursor)}>; rel="next"`)
      return { imports, next_cursor: nextCursor }
    },
})

/** Returns the query of the next page, with the same filters. */
function nextQuery({ state, source, limit }: ImportListRequest, cursor: string): URLSearchParams {
  return new URLSearchParams({
    ...(state !== undefined && { state }),
    ...(source !== undefined && { source }),
    limit: String(limit),
    cursor,
  })
}
