import { createHash } from 'node:crypto'
import { sql } from '@sluice/database'
import { removeOldKeys } from '@sluice/idempotency'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type Answer, type App, openApp, openTestApi, send } from './test-api.ts'

const bulkImport = '/v3/user_profiles/bulk_import'
const file = 'user_id,name\nalice,Alice\n'
const declaration = { checksum: createHash('md5').update(file).digest('base64'), byte_size: String(file.length) }
const api = openBeforeAll(openTestApi)
let app: App
beforeEach(async () => {
  app = await openApp(api, ['alice'])
})

const post = (path: string, body: unknown, key: string, headers: Record<string, string> = {}) =>
  send(api, app, path, body, { headers: { 'idempotency-key': key, ...headers } })
const replayed = ({ headers }: Answer) => headers['idempotency-replayed']
const importsOf = ({ appId }: App) =>
  api.database.db.selectFrom('imports').selectAll().where('app_id', '=', appId).execute()
const deletionsOf = ({ appId }: App) =>
  api.database.db.selectFrom('deletion_requests').selectAll().where('app_id', '=', appId).execute()

// second-day.md §4, Keys.
describe.each([
  ['v3 first request', bulkImport, declaration, { ...declaration, byte_size: '99' }, {}],
  ['v2', '/v2/user_profiles/bulk_import', file, `${file}bob,Bob\n`, { 'content-type': 'text/csv' }],
  [
    'deletion',
    '/v3/user_data_deletions',
    { identity_type: 'user_id', identity_value: 'alice' },
    { identity_type: 'user_id', identity_value: 'bob' },
    {},
  ],
  ['registration of users', '/v1/users', { user_ids: ['bob'] }, { user_ids: ['carol'] }, {}],
  [
    'registration of keys',
    '/v1/profile_keys',
    { profile_keys: [{ key: 'zip', type: 'string' }] },
    { profile_keys: [{ key: 'zip', type: 'int' }] },
    {},
  ],
  ['export', '/v1/exports', { keys: null }, {}, {}],
])('%s', (_, path, body, otherBody, headers) => {
  test('a repetition gets the original response and changes nothing', async () => {
    const first = await post(path, body, 'key-1', headers)
    expect([first.status < 300, replayed(first)]).toEqual([true, undefined])
    const before = [await importsOf(app), await deletionsOf(app)]
    const second = await post(path, body, 'key-1', headers)
    expect([second.status, replayed(second)]).toEqual([first.status, 'true'])
    expect(second.headers['x-import-id']).toBe(first.headers['x-import-id'])
    expect(second.headers['content-type']).toBe(first.headers['content-type'])
    if (path !== bulkImport) expect(second.body).toEqual(first.body)
    expect([(await importsOf(app)).length, await deletionsOf(app)]).toEqual([before[0]?.length, before[1]])
  })

  test('the same key with another body is refused', async () => {
    await post(path, body, 'key-1', headers)
    expect(await post(path, otherBody, 'key-1', headers)).toMatchObject({
      status: 422,
      body: { error: { messages: ['This Idempotency-Key was used for a request with another body or path.'] } },
    })
  })

  test('50 repetitions at the same moment take effect once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(path, body, 'key-1', headers)))
    const originals = answers.filter((answer) => answer.status < 300 && replayed(answer) === undefined)
    expect(originals).toHaveLength(1)
    for (const answer of answers.filter((each) => !originals.includes(each))) {
      if (answer.status === 409) expect(answer.headers['retry-after']).toBe('1')
      else expect([answer.status, replayed(answer)]).toEqual([originals[0]?.status, 'true'])
    }
    expect((await importsOf(app)).length + (await deletionsOf(app)).length).toBeLessThanOrEqual(1)
    expect(replayed(await post(path, body, 'key-1', headers))).toBe('true')
  })

  test('keys of other apps and functions are independent', async () => {
    await post(path, body, 'key-1', headers)
    const other = await openApp(api, ['alice'])
    const options = { headers: { 'idempotency-key': 'key-1', ...headers } }
    expect(replayed(await send(api, other, path, body, options))).toBeUndefined()
    const elsewhere = path === '/v1/users' ? bulkImport : '/v1/users'
    const itsBody = path === '/v1/users' ? declaration : { user_ids: ['bob'] }
    const answer = await post(elsewhere, itsBody, 'key-1')
    expect([answer.status < 300, replayed(answer)]).toEqual([true, undefined])
  })

  test('a key is free again after 24 hours, before maintenance has removed it and after', async () => {
    const age = (hours: number) =>
      sql`update idempotency_keys set created_at = now() - make_interval(hours => ${hours})`.execute(api.database.db)
    await post(path, body, 'key-1', headers)
    await age(23)
    expect(await removeOldKeys(api.database.db)).toBe(0)
    expect(replayed(await post(path, body, 'key-1', headers))).toBe('true')
    await age(25)
    expect(replayed(await post(path, body, 'key-1', headers))).toBeUndefined()
    await age(25)
    expect(await removeOldKeys(api.database.db)).toBeGreaterThan(0)
    expect(replayed(await post(path, body, 'key-1', headers))).toBeUndefined()
  })
})

// second-day.md §4, Keys.
describe('a first request of v3', () => {
  test('is repeated with an address that works while its upload is awaited, and as it was afterwards', async () => {
    const first = await post(bulkImport, declaration, 'key-1')
    await sql`update imports set upload_expires_at = now() - interval '10 s' where app_id = ${app.appId}`.execute(
      api.database.db,
    )
    const second = await post(bulkImport, declaration, 'key-1')
    const { direct_upload: upload } = second.body as { direct_upload: { url: string; headers: Record<string, string> } }
    const { rows } = await sql<{ open: boolean }>`
      select upload_expires_at > now() + interval '4 min' as open from imports where app_id = ${app.appId}
    `.execute(api.database.db)
    expect(rows).toEqual([{ open: true }])
    expect((await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: file })).status).toBe(200)

    await sql`update imports set state = 'queued', queued_at = now() where app_id = ${app.appId}`.execute(
      api.database.db,
    )
    const third = await post(bulkImport, declaration, 'key-1')
    expect([third.status, third.body, replayed(third)]).toEqual([200, first.body, 'true'])
  })

  test.each(['{', '{"a":"b"]', `[]${' '.repeat(10_000)}`])(
    'a body that is refused is kept as well: %j',
    async (body) => {
      const refused = await post(bulkImport, body, 'key-1')
      const again = await post(bulkImport, body, 'key-1')
      expect([refused.status, again.status, replayed(again)]).toEqual([400, 400, 'true'])
      expect((await post(bulkImport, declaration, 'key-1')).status).toBe(422)
    },
  )

  test('a refusal is kept as well: the request is not checked again', async () => {
    const refused = await post(bulkImport, { ...declaration, byte_size: 'x' }, 'key-1')
    const again = await post(bulkImport, { ...declaration, byte_size: 'x' }, 'key-1')
    expect([refused.status, again.status, again.body, replayed(again)]).toEqual([400, 400, refused.body, 'true'])
  })
})

describe('a response of a thousand characters or more', () => {
  const longKeys = (type: string) => ({
    profile_keys: Array.from({ length: 500 }, (_, index) => ({ key: `${'😀'.repeat(200)}${index}`, type })),
  })

  async function storedBytes(): Promise<number> {
    const { rows } = await sql<{ bytes: number }>`
      select sum(octet_length(k::text)) as bytes from idempotency_keys k where app_id = ${app.appId}
    `.execute(api.database.db)
    return rows[0]?.bytes ?? 0
  }

  test('is made again for a repetition instead of being stored', async () => {
    const first = await post('/v1/profile_keys', longKeys('int'), 'key-1')
    const again = await post('/v1/profile_keys', longKeys('int'), 'key-1')
    expect([first.status, replayed(first)]).toEqual([200, undefined])
    expect([again.status, replayed(again), again.body]).toEqual([200, 'true', first.body])
    expect((await post('/v1/profile_keys', longKeys('string'), 'key-1')).status).toBe(422)
    expect(await storedBytes()).toBeLessThan(1_000)
  })

  test('is made again if it was a refusal', async () => {
    const requests: [string, object][] = [
      ['/v1/users', { user_ids: Array.from({ length: 500 }, () => 'x'.repeat(300)) }],
      ['/v1/profile_keys', { profile_keys: Array.from({ length: 500 }, () => ({ key: '$', type: 'x' })) }],
      [
        bulkImport,
        {
          ...declaration,
          profile_types: Object.fromEntries(longKeys('x').profile_keys.map((each) => [each.key, 'x'])),
        },
      ],
    ]
    for (const [path, body] of requests) {
      const first = await post(path, body, 'key-1')
      const again = await post(path, body, 'key-1')
      expect([first.status, again.status, replayed(again), again.body]).toEqual([400, 400, 'true', first.body])
    }
    expect(await storedBytes()).toBeLessThan(requests.length * 2_000)
  })
})

test('a long refusal stays the response, although the request would succeed now', async () => {
  const keys = Array.from({ length: 10 }, (_, index) => `${'x'.repeat(200)}${index}`)
  const first = await post('/v1/exports', { keys }, 'key-1')
  expect([first.status, JSON.stringify(first.body).length > 1_024]).toEqual([400, true])
  await post('/v1/profile_keys', { profile_keys: keys.map((key) => ({ key, type: 'int' })) }, 'key-2')
  const again = await post('/v1/exports', { keys }, 'key-1')
  expect([again.status, replayed(again), again.body]).toEqual([400, 'true', first.body])
  const exports = api.database.db.selectFrom('exports').select('export_id').where('app_id', '=', app.appId)
  expect(await exports.execute()).toEqual([])
})

test('a request without a body is repeated like any other', async () => {
  const importId = String((await post(bulkImport, declaration, 'import')).headers['x-import-id'])
  const undo = (body?: object) => post(`${bulkImport}/${importId}/undo`, body, 'key-1')
  const first = await undo()
  expect([first.status, replayed(first)]).toEqual([409, undefined])
  const again = await undo()
  expect([again.status, replayed(again), again.body]).toEqual([409, 'true', first.body])
  expect((await undo({ dry_run: true })).status).toBe(422)
})

// changes.md §3, Asking for it.
test('a key that undid one import is refused for another import', async () => {
  const undo = (importId: string) => post(`${bulkImport}/${importId}/undo`, {}, 'key-1')
  const request = async (key: string) => String((await post(bulkImport, declaration, key)).headers['x-import-id'])
  const [first, second] = [await request('first'), await request('second')]
  const refused = await undo(first)
  expect([refused.status, replayed(refused)]).toEqual([409, undefined])
  expect(replayed(await undo(first))).toBe('true')
  expect(await undo(second)).toMatchObject({ status: 422 })
})

// second-day.md §4, Keys.
describe('a response that is not kept', () => {
  test('429 of too many waiting imports: the repetition is handled when there is room', async () => {
    const small = await openTestApi({ WAITING_IMPORTS_LIMIT: '1' })
    const one = await openApp(small)
    const request = (key: string) => send(small, one, bulkImport, declaration, { headers: { 'idempotency-key': key } })
    await request('key-1')
    expect((await request('key-2')).status).toBe(429)
    await sql`update imports set state = 'cancelled'`.execute(small.database.db)
    const repeated = await request('key-2')
    expect([repeated.status, replayed(repeated)]).toEqual([200, undefined])
    await small.close()
  })
})

test('a key whose process died before the response can be used when its claim ends', async () => {
  const claim = (seconds: number) =>
    sql`
    insert into idempotency_keys (app_id, function, key, owner, lease_until)
    values (${app.appId}, 'POST /v1/users', 'key-1', gen_random_uuid(), now() + make_interval(secs => ${seconds}))
    on conflict (app_id, function, key) do update set lease_until = excluded.lease_until
  `.execute(api.database.db)
  await claim(8)
  const early = await post('/v1/users', { user_ids: ['bob'] }, 'key-1')
  expect([early.status, early.headers['retry-after']]).toEqual([409, '1'])
  await claim(-1)
  const late = await post('/v1/users', { user_ids: ['bob'] }, 'key-1')
  expect([late.status, replayed(late)]).toEqual([202, undefined])
})

test('any key is accepted and kept, or refused with a message that names the header', async () => {
  const visible = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) })
  const header = fc.oneof(
    visible,
    fc.string({ unit: fc.constantFrom('a', ' ', 'é', '~'), minLength: 1, maxLength: 300 }).map((text) => text.trim()),
  )
  await fc.assert(
    fc.asyncProperty(header, async (key) => {
      const isValid = /^[!-~]{1,255}$/.test(key)
      const answer = await post('/v1/users', { user_ids: ['bob'] }, key)
      expect(answer.status).toBe(isValid ? 202 : 400)
      if (!isValid) expect(JSON.stringify(answer.body)).toContain('Idempotency-Key')
    }),
    { numRuns: 200 },
  )
})
