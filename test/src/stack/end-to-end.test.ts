import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { gzipSync } from 'node:zlib'
import type { UploadDescriptor } from '@sluice/contract'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { until } from '../environment/wait.ts'
import {
  bulkImport,
  declare,
  download,
  ended,
  firstRequest,
  openApp,
  put,
  requestImport,
  statusOf,
  upload,
} from './client.ts'

// One app per test, because first requests are limited per token.
const stack = openBeforeAll(openSharedStack)

const declaration = { checksum: 'CY9rzUYh03PK3k6DJie09g==', byte_size: '4', content_type: 'text/csv' }

test('a request is answered 401 without a token, 403 with a wrong token, and 404 for an unknown path', async () => {
  const { token } = await openApp(stack)
  const refusals = [
    { status: 401, name: 'unauthorized', request: firstRequest(stack.api, declaration, {}) },
    { status: 401, name: 'unauthorized', request: firstRequest(stack.api, declaration, { 'X-Service-Token': '' }) },
    { status: 403, name: 'forbidden', request: firstRequest(stack.api, declaration, { 'X-Service-Token': 'x' }) },
    {
      status: 403,
      name: 'forbidden',
      request: firstRequest(stack.api, declaration, {
        'X-Service-Token': `${token.slice(0, -1)}${token.endsWith('A') ? 'E' : 'A'}`,
      }),
    },
    { status: 404, name: 'not_found', request: fetch(`${stack.api}/v3/user_profiles`) },
    { status: 404, name: 'not_found', request: fetch(`${stack.api}${bulkImport}`, { method: 'DELETE' }) },
  ]
  for (const { status, name, request } of refusals) {
    const response = await request
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({
      status: name,
      error: { messages: [name === 'not_found' ? 'Not found.' : expect.any(String)] },
    })
  }
})

// service.md, Upload descriptor.
test('the first request returns the descriptor and nothing else, and the import awaits its upload', async () => {
  const { token } = await openApp(stack)
  const { checksum, byte_size } = declaration
  const response = await firstRequest(stack.api, { checksum, byte_size }, { 'X-Service-Token': token })
  expect(response.status).toBe(200)
  const importId = response.headers.get('x-import-id') ?? ''
  const body = (await response.json()) as UploadDescriptor
  expect(body).toEqual({
    direct_upload: {
      url: expect.any(String),
      headers: { 'Content-Type': 'text/csv', 'Content-MD5': checksum },
    },
  })
  const url = new URL(body.direct_upload.url)
  expect(url.origin).toBe((await stack.info()).storage)
  expect(url.searchParams.get('X-Amz-Expires')).toBe('300')
  expect(await statusOf(stack.api, token, importId)).toEqual({
    import_id: importId,
    state: 'awaiting_upload',
    source: 'v3',
    file_name: null,
    rows_total: 0,
    rows_applied: 0,
    rows_changed: 0,
    rows_failed: 0,
    error: null,
    error_file_url: null,
    keep_changes: false,
    changes: null,
    changes_file_url: null,
    held: null,
    types: {},
    warnings: [],
    requested_at: expect.any(String),
    started_at: null,
    finished_at: null,
  })
})

const sound = `user_id,name,age,score,joined
u1,Ana,31,1.5,2026-01-02T03:04:05Z
u2,"Müller, Bo",42,2.25,2026-01-02T03:04:05+09:00
`

test('a file without errors is applied, and its mail has no link', async () => {
  const { appId, token, email } = await openApp(stack, ['u1', 'u2'])
  const importId = await upload(stack.api, token, Buffer.from(sound))
  expect(await ended(stack.api, token, importId)).toEqual({
    import_id: importId,
    state: 'completed',
    source: 'v3',
    file_name: null,
    rows_total: 2,
    rows_applied: 2,
    rows_changed: 2,
    rows_failed: 0,
    error: null,
    error_file_url: null,
    keep_changes: false,
    changes: null,
    changes_file_url: null,
    held: null,
    types: { name: 'string', age: 'int', score: 'decimal', joined: 'datetime' },
    warnings: [],
    requested_at: expect.any(String),
    started_at: expect.any(String),
    finished_at: expect.any(String),
  })
  const shown = await stack.sluice('user', 'show', '--app', String(appId), 'u2')
  expect(shown.json).toMatchObject({
    profiles: {
      name: { type: 'string', value: 'Müller, Bo' },
      age: { type: 'int', value: 42 },
      score: { type: 'decimal', value: 2.25 },
      joined: { type: 'datetime', value: expect.stringMatching(/^2026-01-01.18:04:05/) },
    },
  })
  const mail = await onlyMail(email)
  expect(mail.to).toEqual([email])
  expect(mail.text).toContain(importId)
  expect(`${mail.text}${mail.html}`).not.toContain('http')
})

const faulty = Buffer.from(
  `user_id,name,age,score,joined
u1,  Ana ,,,
u1,Ana,x,1.5,2026-01-02T03:04:05Z
u2,Bo,1,y,soon
u3,Cy,1,1,2026-01-02
u1,Ana,1,1,2026-01-02,more
u2,\xff,,,
u2,,,,2026-03-01
`,
  'latin1',
)

const errorFile = Buffer.from(
  `SERVICE_ERRORS,user_id,name,age,score,joined
age should be integer,u1,Ana,x,1.5,2026-01-02T03:04:05Z
"score should be decimal, joined should be iso8601 format",u2,Bo,1,y,soon
user_id is unregistered user,u3,Cy,1,1,2026-01-02
too many values,u1,Ana,1,1,2026-01-02,more
name should be UTF-8,u2,\xff,,,
`,
  'latin1',
)

test('the valid rows of a file with errors are applied, and the mail links to the error file', async () => {
  const { token, email } = await openApp(stack, ['u1', 'u2'])
  await ended(stack.api, token, await upload(stack.api, token, Buffer.from(sound)))
  await onlyMail(email)

  const importId = await upload(stack.api, token, faulty)
  const view = await ended(stack.api, token, importId)
  expect(view).toMatchObject({ state: 'completed', rows_total: 7, rows_applied: 2, rows_failed: 5, error: null })
  const link = view.error_file_url ?? ''
  const mail = await until('the second mail', async () => {
    const mails = await stack.mailsTo(email)
    return mails.length === 2 && mails[0]
  })
  expect(mail.text).toContain(link)
  expect(mail.html).toContain(link)

  const response = await fetch(link, { redirect: 'manual' })
  expect(response.status).toBe(302)
  const file = await fetch(response.headers.get('location') ?? '')
  expect(file.status).toBe(200)
  expect(file.headers.get('content-disposition')).toBe(`attachment; filename="errors-${importId}.csv"`)
  expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(Buffer.from(await file.arrayBuffer())).toEqual(errorFile)

  // A corrected error file can be uploaded unchanged, because its first column is ignored.
  const corrected = Buffer.from('SERVICE_ERRORS,user_id,age\nage should be integer,u1,7\n')
  const again = await ended(stack.api, token, await upload(stack.api, token, corrected))
  expect(again).toMatchObject({ state: 'completed', rows_applied: 1, rows_failed: 0, types: { age: 'int' } })
})

// design.md §3, Import status.
test('an altered link, a link to no import, and another app’s import are not found', async () => {
  const { token } = await openApp(stack)
  const importId = await upload(stack.api, token, Buffer.from('user_id,age\nnobody,1\n'))
  const link = (await ended(stack.api, token, importId)).error_file_url ?? ''
  await download(link)

  const other = await openApp(stack)
  const altered = [
    `${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}`,
    link.slice(0, -1),
    link.replace(importId, crypto.randomUUID()),
    `${stack.api}/error_files/${importId}`,
    `${stack.api}${bulkImport}/${importId}`,
    `${stack.api}${bulkImport}/${crypto.randomUUID()}`,
    `${stack.api}${bulkImport}/1`,
  ]
  for (const address of altered) {
    const response = await fetch(address, { headers: { 'X-Service-Token': other.token }, redirect: 'manual' })
    expect.soft(response.status, address).toBe(404)
    expect.soft(await response.json()).toEqual({ status: 'not_found', error: { messages: ['Not found.'] } })
  }
})

// design.md §3, File-level errors.
test('a file that is refused as a whole changes nothing, and its mail states the reason', async () => {
  const { token, email } = await openApp(stack, ['u1'])
  const view = await ended(stack.api, token, await upload(stack.api, token, Buffer.from('id,age\nu1,1\n')))
  expect(view).toMatchObject({ state: 'failed', rows_total: 0, error: 'user_id column is required', types: {} })
  expect((await onlyMail(email)).text).toContain('user_id column is required')
})

test('a gzip file is imported like a plain file', async () => {
  const { token } = await openApp(stack, ['u1', 'u2'])
  const importId = await upload(stack.api, token, gzipSync(sound), 'application/gzip')
  expect(await ended(stack.api, token, importId)).toMatchObject({ state: 'completed', rows_applied: 2 })
})

test('the end of an upload is noticed within 2 s', async () => {
  const { token } = await openApp(stack, ['u1', 'u2'])
  const file = Buffer.from(sound)
  const { importId, url, headers } = await requestImport(stack.api, token, declare(file))
  await put(url, headers, file)
  const uploaded = Date.now()
  const { started_at: startedAt } = await ended(stack.api, token, importId)
  // Allows half a second more than promised for the claim and for a busy machine.
  expect(Date.parse(startedAt ?? '') - uploaded).toBeLessThan(2500)
})

test('a worker has a lower processor priority than the API', async () => {
  const { api, worker } = (await stack.info()).processes
  const [ofApi, ofWorker] = [api?.[0] ?? Number.NaN, worker?.[0] ?? Number.NaN].map((pid) => getPriority(pid))
  expect(ofWorker).toBeGreaterThan(ofApi ?? Number.NaN)
  // Linux may divide the processor among sessions, and each app has a session of its own. The session then needs the
  // lower priority too.
  const session = `/proc/${worker?.[0]}/autogroup`
  if (existsSync(session)) expect(readFileSync(session, 'utf8')).toMatch(/ nice 10$/m)
})

test('files are applied in the order of their first requests, whatever the order of their uploads', async () => {
  const { appId, token } = await openApp(stack, ['u1'])
  const files = ['first', 'second', 'third'].map((plan) => Buffer.from(`user_id,plan,${plan}\nu1,${plan},yes\n`))
  const requested = []
  for (const file of files) requested.push({ file, ...(await requestImport(stack.api, token, declare(file))) })
  for (const { file, url, headers } of requested.toReversed()) {
    expect((await put(url, headers, file)).status).toBe(200)
  }
  const views = []
  for (const { importId } of requested) views.push(await ended(stack.api, token, importId))
  for (const [index, view] of views.entries()) {
    expect(view.state).toBe('completed')
    const before = views[index - 1]
    if (before) expect(Date.parse(view.started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(before.finished_at ?? ''))
  }
  const { json } = await stack.sluice('user', 'show', '--app', String(appId), 'u1')
  expect(json).toMatchObject({ profiles: { plan: { value: 'third' }, first: { value: 'yes' } } })
})

/** Waits for the mail to an address. Returns it, and expects that there is only one. */
async function onlyMail(email: string) {
  const mails = await until(`a mail to ${email}`, async () => {
    const found = await stack.mailsTo(email)
    return found.length > 0 && found
  })
  expect(mails).toHaveLength(1)
  return mails[0] ?? expect.fail('no mail')
}
