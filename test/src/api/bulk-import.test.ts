import { createHash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi, send } from './test-api.ts'

// POST /v3/user_profiles/bulk_import, the first request (service.md, Endpoints 3; design.md §3). Uploads and results
// are tested with real processes in test/src/stack/end-to-end.test.ts.
const path = '/v3/user_profiles/bulk_import'
const md5 = (text: string) => createHash('md5').update(text).digest('base64')
const declaration = { checksum: md5('a file'), byte_size: '4', content_type: 'text/csv' }

const api = openBeforeAll(openTestApi)
let app: App
beforeAll(async () => {
  app = await openApp(api)
})

// service.md, Endpoints 3; service.md, Limits; design.md §3, First request's success.
test.each([
  ['text/csv', 2 ** 30],
  ['application/gzip', 100 * 2 ** 20],
])('a first request for %s of the largest size is answered 200 with an address for the upload', async (type, size) => {
  const answer = await send(api, app, path, { ...declaration, byte_size: String(size), content_type: type })
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'x-import-id': expect.stringMatching(/^[0-9a-f-]{36}$/) },
    body: {
      direct_upload: {
        url: expect.stringContaining('X-Amz-Expires=300'),
        headers: { 'Content-Type': type, 'Content-MD5': declaration.checksum },
      },
    },
  })
})

test('without a content type, the file is text/csv', async () => {
  const { content_type: _, ...rest } = declaration
  const { body } = await send(api, app, path, rest)
  expect(body).toMatchObject({ direct_upload: { headers: { 'Content-Type': 'text/csv' } } })
})

test('a first request gives the import the next sequence number of its app, and its token’s last characters', async () => {
  const ids: unknown[] = []
  for (let request = 0; request < 3; request++)
    ids.push((await send(api, app, path, declaration)).headers['x-import-id'])
  const rows = await api.database.db
    .selectFrom('imports')
    .select(['import_id', 'state', 'requested_by'])
    .where('app_id', '=', app.appId)
    .orderBy('sequence_number', 'desc')
    .limit(3)
    .execute()
  const requested_by = `API token …${app.token.slice(-4)}`
  expect(rows).toEqual(ids.toReversed().map((id) => ({ import_id: id, state: 'awaiting_upload', requested_by })))
})

// service.md, Bulk import upload request; service.md, Errors: 400; design.md §3, byte_size over the limit.
test.for<[unknown, string]>([
  [{ ...declaration, checksum: 'abc' }, 'Validation failed: Checksum is invalid'],
  [{ ...declaration, checksum: '098f6bcd4621d373cade4e832627b4f6' }, 'Validation failed: Checksum is invalid'],
  [{ ...declaration, checksum: undefined }, 'param is missing or the value is empty: checksum'],
  [{ ...declaration, byte_size: undefined }, 'param is missing or the value is empty: byte_size'],
  [{ ...declaration, byte_size: '' }, 'param is missing or the value is empty: byte_size'],
  [{ ...declaration, byte_size: '0' }, 'Validation failed: byte_size must be a positive integer'],
  [{ ...declaration, byte_size: '1.5' }, 'Validation failed: byte_size must be a positive integer'],
  [
    { ...declaration, byte_size: String(2 ** 30 + 1) },
    'Validation failed: byte_size is over the limit of 1073741824 bytes for text/csv',
  ],
  [
    { ...declaration, byte_size: String(100 * 2 ** 20 + 1), content_type: 'application/gzip' },
    'Validation failed: byte_size is over the limit of 104857600 bytes for application/gzip',
  ],
  [
    { ...declaration, content_type: 'text/plain' },
    'Validation failed: content_type must be text/csv or application/gzip',
  ],
  [[], 'The request body must be a JSON object.'],
  ['{', 'The request body is not valid JSON.'],
])('a first request with the body %j is answered 400: %s', async ([body, message]) => {
  const before = await everything(api)
  const answer = await send(api, app, path, body)
  expect(answer).toMatchObject({ status: 400, body: { error: { messages: [message] } } })
  expect(await everything(api)).toEqual(before)
})
