import { gzipSync } from 'node:zlib'
import { importView } from '@sluice/contract'
import { claimImport, dispatchNextInOrder, runImport } from '@sluice/imports'
import { registerKeys } from '@sluice/profiles'
import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi, profileOf, send } from './test-api.ts'

// POST /v2/user_profiles/bulk_import: each sentence of service.md and design.md §3 about it.
const path = '/v2/user_profiles/bulk_import'

const api = openBeforeAll(() => openTestApi({ PROFILE_KEY_LIMIT: '5', INFERENCE_ROWS: '3', UPLOAD_ORDER_WAIT: '30s' }))

function upload(app: App | undefined, file: Buffer | string, headers: Record<string, string | undefined> = {}) {
  return send(api, app, path, file, { headers: { 'content-type': 'text/csv', ...headers } })
}

const gzip = { 'content-type': 'application/gzip' }

async function statusOf(app: App, importId: unknown) {
  const answer = await send(api, app, `/v3/user_profiles/bulk_import/${importId}`, undefined, { method: 'GET' })
  return importView.parse(answer.body)
}

// service.md, Endpoints 5; design.md §3, v2 types in the answer.
describe('202', () => {
  const file = 'user_id,name,age,score,joined\nu1,Ann,34,57.1,2026-01-01\nu2,Bob,,,\n'
  const types = {
    name: { type: 'string' },
    age: { type: 'int' },
    score: { type: 'decimal' },
    joined: { type: 'datetime' },
  }

  test.each([
    ['text/csv', file, 'text/csv'],
    ['text/csv with parameters', file, 'Text/CSV; charset=UTF-8; header=present'],
    ['application/gzip', gzipSync(file), 'application/gzip'],
  ])('the answer maps each column to its type: %s', async (_, body, type) => {
    const app = await openApp(api, ['u1', 'u2'])
    const answer = await upload(app, body, { 'content-type': type })
    expect(answer).toMatchObject({ status: 202, body: { user_profile: types } })
  })

  test('the file becomes an import of the app like any other', async () => {
    const app = await openApp(api, ['u1', 'u2'])
    const { headers } = await upload(app, file)
    const importId = String(headers['x-import-id'])
    expect(await statusOf(app, importId)).toMatchObject({ state: 'queued', source: 'v2' })

    const claim = await claimImport(api.context, { appId: app.appId, importId })
    expect(claim).toBeDefined()
    if (claim !== undefined) await runImport(api.context, claim, new AbortController().signal)
    expect(await statusOf(app, importId)).toMatchObject({ state: 'completed', rows_total: 2, rows_applied: 2 })
    const profile = { name: 'Ann', age: 34, score: 57.1, joined: '2026-01-01 00:00:00.000' }
    expect(await profileOf(api, app, 'u1')).toEqual(profile)
  })

  test('a registered key keeps its registered type, whatever the values', async () => {
    const app = await openApp(api)
    await api.database.db
      .transaction()
      .execute((tx) => registerKeys(tx, app.appId, new Map([['age', 'string'] as const]), 5))
    const answer = await upload(app, 'user_id,age,n\nu1,1,2\n')
    expect(answer.body).toEqual({ user_profile: { age: { type: 'string' }, n: { type: 'int' } } })
  })

  test('types are inferred from the first INFERENCE_ROWS rows alone', async () => {
    const answer = await upload(await openApp(api), 'user_id,n\nu,1\nu,2\nu,3\nu,four\n')
    expect(answer.body).toEqual({ user_profile: { n: { type: 'int' } } })
  })

  test('a column without a value counts as string; user_id and SERVICE_ERRORS are not profiles', async () => {
    const answer = await upload(await openApp(api), 'SERVICE_ERRORS,n,user_id,empty\nx,1,u,\n')
    expect(answer.body).toEqual({ user_profile: { n: { type: 'int' }, empty: { type: 'string' } } })
  })

  test('names of JavaScript’s own properties are ordinary columns', async () => {
    const answer = await upload(await openApp(api), 'user_id,__proto__,constructor\nu,1,x\n')
    expect(JSON.stringify(answer.body)).toBe(
      '{"user_profile":{"__proto__":{"type":"int"},"constructor":{"type":"string"}}}',
    )
  })

  test('files are processed in the order of their requests', async () => {
    const app = await openApp(api)
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push(String((await upload(app, `user_id,n\nu,${n}\n`)).headers['x-import-id']))
    const [turn, ...others] = await dispatchNextInOrder(api.context, app.appId)
    expect([turn?.importId, others]).toEqual([ids[0], []])
  })

  // service.md, Versioning.
  test('the answer states that the endpoint is deprecated, since when, and its replacement', async () => {
    const headers = {
      deprecation: '@1630368000',
      sunset: 'Tue, 31 Aug 2021 00:00:00 GMT',
      link: '<http://api.test/v3/user_profiles/bulk_import>; rel="successor-version"',
    }
    expect((await upload(await openApp(api), file)).headers).toMatchObject(headers)
    expect((await upload(undefined, file)).headers).toMatchObject(headers)
    expect(new Date(1630368000 * 1000).toUTCString()).toBe(headers.sunset)
  })
})

// service.md, Errors: 400.
describe('400 with code 2001: the file is refused, and leaves nothing', () => {
  test.each([
    ['no user_id column', 'id,name\n1,x\n', 'user_id column is required'],
    ['empty file', '', 'empty file'],
    ['a header over 102400 bytes', `user_id,${'x'.repeat(102_400)}\n`, 'header size over 102400 bytes'],
    ['no line break', 'user_id,name', 'newline character not found'],
    ['empty columns', 'user_id,,name\n', 'empty columns'],
    ['names that are not UTF-8', Buffer.from('user_id,n\xff\n', 'latin1'), 'column 2 should be UTF-8'],
    ['duplicate columns', 'user_id,a,b,a,b\n', 'duplicate columns a, b'],
    [
      'a name over 255 characters',
      `user_id,${'x'.repeat(256)}\n`,
      `${'x'.repeat(256)} should be at most 255 characters`,
    ],
    ['a standard profile', 'user_id,$name\n', 'standard user profile cannot be updated: $name'],
    [
      'too many profiles',
      'user_id,a,b,c,d,e,f\nu,1,2,3,4,5,6\n',
      'This app has exceeded the limit of enabled user profile(5)',
    ],
  ])('%s', async (_, file, message) => {
    for (const [body, headers] of [
      [file, {}],
      [gzipSync(file), gzip],
    ] as const) {
      const app = await openApp(api, ['u'])
      const before = await everything(api)
      const answer = await upload(app, body, headers)
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 2001, messages: [message] } } })
      expect(Object.keys(answer.body as object)).toEqual(['error'])
      expect(await everything(api)).toEqual(before)
    }
  })

  test.each([
    ['no gzip', Buffer.from('user_id,name\nu,x\n'), 'not in gzip format'],
    ['empty', Buffer.alloc(0), 'empty file'],
    ['cut off', gzipSync(`user_id,name\n${'u,x\n'.repeat(2)}`).subarray(0, -9), 'file maybe corrupt'],
    ['damaged', damaged(gzipSync('user_id,name\nu,x\n')), 'file maybe corrupt'],
  ])('application/gzip: %s', async (_, file, message) => {
    const app = await openApp(api, ['u'])
    const before = await everything(api)
    const answer = await upload(app, file, gzip)
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 2001, messages: [message] } } })
    expect(await everything(api)).toEqual(before)
  })
})

/** Returns gzip bytes with a wrong checksum. */
function damaged(file: Buffer): Buffer {
  file.writeUInt8(file.readUInt8(file.length - 8) ^ 1, file.length - 8)
  return file
}

// service.md, Errors: 415; design.md §3, Error bodies.
describe('other answers', () => {
  const file = 'user_id,name\nu,x\n'

  test('401 without a token, 403 with an invalid one, before anything else is checked', async () => {
    const headers = { 'content-type': 'text/plain' }
    expect(await upload(undefined, '', headers)).toMatchObject({ status: 401, body: { status: 'unauthorized' } })
    const invalid = { appId: 0, token: 'nonsense' }
    expect(await upload(invalid, '', headers)).toMatchObject({ status: 403, body: { status: 'forbidden' } })
  })

  test.each([
    { 'content-type': 'application/json' },
    { 'content-type': 'text/plain' },
    { 'content-type': 'text/csv; charset=shift_jis' },
    { 'content-type': 'csv' },
    { 'content-type': undefined },
    { 'content-encoding': 'gzip' },
  ])('415 with the plain text alone: %o', async (headers) => {
    const app = await openApp(api)
    const before = await everything(api)
    const answer = await upload(app, file, headers)
    expect(answer).toMatchObject({ status: 415, headers: { 'content-type': expect.stringMatching(/^text\/plain/) } })
    expect(answer.body).toBe(
      'Content-Type must be text/csv (in UTF-8) or application/gzip, without a Content-Encoding.',
    )
    expect(await everything(api)).toEqual(before)
  })
})
