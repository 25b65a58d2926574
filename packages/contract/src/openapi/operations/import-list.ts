import { errors } from '../../errors.ts'
import { importSources, importStates } from '../../import.ts'
import { importCursor, parseImportList } from '../../import-list.ts'
import { limits } from '../../limits.ts'
import type { PathItem } from '../document-types.ts'
import { type ErrorCase, json, success, tokenResponses } from '../responses.ts'

/** An import, for examples. */
export const view = {
  import_id: '0b9d4d1e-7f0c-4c7e-9d6e-0f6d7f3f2a11',
  state: 'completed',
  source: 'v3',
  file_name: 'people.csv',
  rows_total: 1000,
  rows_applied: 998,
  rows_failed: 2,
  rows_changed: 120,
  error: null,
  error_file_url: 'https://api.example.com/error_files/0b9d4d1e.c2VjcmV0',
  types: { name: 'string', age: 'int', shop: 'int' },
  warnings: [
    {
      key: 'shop',
      type: 'int',
      message: '212 of 1000 values begin with 0, which int does not keep',
      examples: ['007', '042', '015'],
    },
  ],
  requested_at: '2026-03-01T09:00:00.000Z',
  started_at: '2026-03-01T09:00:05.120Z',
  finished_at: '2026-03-01T09:00:06.480Z',
}

const cursor = importCursor(1024)

/** Returns the case of an invalid parameter, with the messages of the real check. */
function refused(name: string, when: string, query: Record<string, string>): ErrorCase {
  const parsed = parseImportList(query)
  return { name, when, answer: errors.badRequest(...('messages' in parsed ? parsed.messages : [])) }
}

/** The list at `/v3/user_profiles/bulk_import`. */
export const importListPath: PathItem = {
  get: {
    operationId: 'listImports',
    tags: ['Bulk import'],
    summary: 'Imports of the app',
    description: [
      'Extension of Sluice. The imports of all upload routes, newest request first. If there is a next page, `next_cursor` and the',
      'header `Link` lead to it. Imports that are added meanwhile do not move the following pages.',
      'A page has fewer imports than `limit` if they have many columns.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [
      {
        name: 'state',
        in: 'query',
        description: 'Only imports in this state.',
        schema: { enum: importStates },
        example: 'completed',
      },
      {
        name: 'source',
        in: 'query',
        description: 'Only imports of this upload route.',
        schema: { enum: importSources },
        example: 'v3',
      },
      {
        name: 'limit',
        in: 'query',
        description: 'Maximum number of imports of a page.',
        schema: {
          type: 'integer',
          minimum: 1,
          maximum: limits.importsPerPage,
          default: limits.importsPerPageByDefault,
        },
        example: 50,
      },
      {
        name: 'cursor',
        in: 'query',
        description: '`next_cursor` of the preceding page.',
        schema: { type: 'string' },
        example: cursor,
      },
    ],
    responses: tokenResponses(
      {
        200: success('A page of the list.', json('ImportList', { imports: [view], next_cursor: cursor }), {
          Link: { description: 'The next page, if there is one (RFC 8288).', schema: { type: 'string' } },
        }),
      },
      [
        refused('state', 'The state is not known.', { state: 'done' }),
        refused('source', 'The upload route is not known.', { source: 'mail' }),
        refused('limit', 'The limit is out of range.', { limit: '0' }),
        refused('cursor', 'The cursor is not from this list.', { cursor: 'x' }),
      ],
    ),
  },
}
