import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { UploadError } from './errors.ts'
import type { ImportProgress } from './import-file.ts'
import { type ScriptedAnswer, startScriptedServer } from './scripted-server.fixture.ts'
import { Sluice } from './sluice.ts'

const content = 'user_id,name\nalice,Alice\n'
const file = new File([content], 'people.csv')
const checksum = createHash('md5').update(content).digest('base64')
const [one, two] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']

const requested = (url: string, path: string, importId = one): ScriptedAnswer => {
  const headers = { 'Content-Type': 'text/csv', 'Content-MD5': checksum }
  return { status: 200, headers: { 'X-Import-Id': importId }, body: { direct_upload: { url: url + path, headers } } }
}
const stored: ScriptedAnswer = { status: 200 }
const expired: ScriptedAnswer = {
  status: 403,
  body: '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>',
}
/** The answer to a lookup of the import. */
const inState = (state: string, importId = one): ScriptedAnswer => ({
  status: 200,
  body: { import_id: importId, state },
})
const busy = (seconds: number, status = 503): ScriptedAnswer => ({
  status,
  headers: { 'Retry-After': String(seconds) },
  body: { error: { messages: ['wait'] } },
})

/** Answers to an upload whose import expires, until the import that replaces it has an address. */
const replacedImport = (url: string): ScriptedAnswer[] => [
  requested(url, '/a'),
  expired,
  inState('expired'),
  requested(url, '/b', two),
]

/** Uploads the file to a server with these answers. Returns the outcome and the requests of the client. */
async function uploadTo(script: (url: string) => ScriptedAnswer[], patienceMs = 30_000) {
  await using server = await startScriptedServer(script)
  const progress: ImportProgress[] = []
  const client = new Sluice({ api: `${server.url}/`, token: 't', patienceMs })
  const outcome = await client.upload(file, { onProgress: (now) => void progress.push(now) }).catch((error) => error)
  return { outcome, received: server.received, progress, steps: server.received.map((each) => each.path) }
}

const post = '/v3/user_profiles/bulk_import'

test('an upload declares checksum, size, type and name, and sends exactly the file with its length', async () => {
  const { outcome, received, progress } = await uploadTo((url) => [requested(url, '/a'), stored])
  expect(outcome).toBe(one)
  expect(JSON.parse(received[0]?.body ?? '')).toEqual({
    checksum,
    byte_size: String(content.length),
    content_type: 'text/csv',
    file_name: 'people.csv',
  })
  expect(received[1]).toMatchObject({ method: 'PUT', path: '/a', body: content, length: String(content.length) })
  const totalBytes = content.length
  expect(progress.filter(({ phase }) => phase === 'checksum').at(-1)).toEqual({
    phase: 'checksum',
    bytes: totalBytes,
    totalBytes,
  })
  expect(progress.at(-1)).toEqual({ phase: 'upload', bytes: totalBytes, totalBytes })
})

test('a first request is repeated with the same key and body after a lost answer, 429, 503 and a request in flight', async () => {
  const { outcome, received } = await uploadTo((url) => [
    'cut',
    busy(0, 429),
    busy(0, 503),
    busy(0, 409),
    requested(url, '/a'),
    stored,
  ])
  expect(outcome).toBe(one)
  const first = received.slice(0, 5)
  expect(new Set(first.map(({ key }) => key)).size).toBe(1)
  expect(first[0]?.key).toMatch(/^[\x21-\x7e]{1,255}$/)
  expect(new Set(first.slice(1).map(({ body }) => body)).size).toBe(1)
})

test('a wait that exceeds the patience fails at once, and says how long to wait', async () => {
  const { outcome, steps } = await uploadTo(() => [busy(600, 429)])
  expect(outcome).toMatchObject({ name: 'TooManyRequestsError', retryAfterMs: 600_000 })
  expect(steps).toEqual([post])
})

test('a refused first request is not repeated', async () => {
  const body = { error: { messages: ['Validation failed: Checksum is invalid'] } }
  const { outcome, steps } = await uploadTo(() => [{ status: 400, body }])
  expect(outcome).toMatchObject({ name: 'BadRequestError', messages: body.error.messages })
  expect(steps).toEqual([post])
})

test('an upload that breaks off, and one that storage cannot take now, are repeated at the same address', async () => {
  const { outcome, steps, received } = await uploadTo((url) => [requested(url, '/a'), 'cut', busy(0), stored])
  expect(outcome).toBe(one)
  expect(steps).toEqual([post, '/a', '/a', '/a'])
  expect(received[3]?.body).toBe(content)
})

test('if the address has expired, a first request with the same key returns a new address for the same import', async () => {
  const { outcome, steps, received } = await uploadTo((url) => [
    requested(url, '/a'),
    expired,
    inState('awaiting_upload'),
    requested(url, '/b'),
    stored,
  ])
  expect(outcome).toBe(one)
  expect(steps).toEqual([post, '/a', `${post}/${one}`, post, '/b'])
  expect(received[3]).toEqual({ ...received[0] })
})

test('if the import has expired as well, another import replaces it', async () => {
  const { outcome, steps, received } = await uploadTo((url) => [...replacedImport(url), stored])
  expect(outcome).toBe(two)
  expect(steps).toEqual([post, '/a', `${post}/${one}`, post, '/b'])
  expect(received[3]?.key).not.toBe(received[0]?.key)
})

test('if the address of an import that replaced another has expired, the new address is of this import', async () => {
  const { outcome, steps, received } = await uploadTo((url) => [
    ...replacedImport(url),
    'cut',
    expired,
    inState('awaiting_upload', two),
    requested(url, '/c', two),
    stored,
  ])
  expect(outcome).toBe(two)
  expect(steps).toEqual([post, '/a', `${post}/${one}`, post, '/b', '/b', `${post}/${two}`, post, '/c'])
  expect(received[7]?.key).toBe(received[3]?.key)
})

test('if a preceding upload has arrived although its answer was lost, the file is not sent again', async () => {
  const { outcome, steps } = await uploadTo((url) => [requested(url, '/a'), 'cut', expired, inState('processing')])
  expect(outcome).toBe(one)
  expect(steps).toEqual([post, '/a', '/a', `${post}/${one}`])
})

test('the same holds after two expired addresses: a repeated first request would return the first one', async () => {
  const { outcome, steps } = await uploadTo((url) => [
    requested(url, '/a'),
    expired,
    inState('awaiting_upload'),
    requested(url, '/b'),
    'cut',
    expired,
    inState('completed'),
  ])
  expect(outcome).toBe(one)
  expect(steps).toEqual([post, '/a', `${post}/${one}`, post, '/b', '/b', `${post}/${one}`])
})

test('storage that asks for the next try at once, or since a moment that has passed, gets it after a pause', async () => {
  const passed: ScriptedAnswer = { status: 503, headers: { 'Retry-After': new Date(0).toUTCString() } }
  const began = performance.now()
  const { steps } = await uploadTo((url) => [requested(url, '/a'), busy(0), passed, stored])
  expect(steps).toHaveLength(4)
  expect(performance.now() - began).toBeGreaterThan(600)
})

test('a redirect of the API is not followed, and the token goes to no other address', async () => {
  await using elsewhere = await startScriptedServer((url) => [requested(url, '/a'), stored])
  const { outcome } = await uploadTo(() => [{ status: 307, headers: { Location: `${elsewhere.url}/v3` } }])
  expect(outcome).toMatchObject({ name: 'UnexpectedAnswerError', message: expect.stringContaining(elsewhere.url) })
  expect(elsewhere.received).toEqual([])
})

test('an address that storage refuses before it has expired is an error', async () => {
  const awaiting = inState('awaiting_upload')
  const { outcome } = await uploadTo((url) => [requested(url, '/a'), expired, awaiting, requested(url, '/a')])
  expect(outcome).toMatchObject({ name: 'UploadError', status: 403 })
})

test('a new address that storage refuses, too, is an error with the message of storage', async () => {
  const { outcome } = await uploadTo((url) => [
    requested(url, '/a'),
    expired,
    inState('awaiting_upload'),
    requested(url, '/b'),
    expired,
  ])
  expect(outcome).toBeInstanceOf(UploadError)
  expect(outcome).toMatchObject({ status: 403, code: 'AccessDenied', message: expect.stringContaining('has expired') })
})

test('a file that has changed since its checksum is not sent again', async () => {
  const digest: ScriptedAnswer = { status: 400, body: '<Error><Code>BadDigest</Code><Message>no</Message></Error>' }
  const { outcome, steps } = await uploadTo((url) => [requested(url, '/a'), digest])
  expect(outcome).toMatchObject({ name: 'UploadError', code: 'BadDigest' })
  expect(steps).toEqual([post, '/a'])
})

test('an address of another service is named as such', async () => {
  const { outcome } = await uploadTo(() => [{ status: 200, body: '<html>' }])
  expect(outcome).toMatchObject({ name: 'UnexpectedAnswerError', message: expect.stringContaining('not an API') })
  const other = await uploadTo(() => [{ status: 200, body: {} }])
  expect(other.outcome).toMatchObject({ name: 'UnexpectedAnswerError' })
})

test('an API that is down is a NetworkError with its address', async () => {
  const { outcome } = await uploadTo(() => ['cut'], 1)
  expect(outcome).toMatchObject({ name: 'NetworkError', message: expect.stringMatching(/127\.0\.0\.1:\d+ cannot be/) })
})

test.each([
  ['a.csv.gz', 'text', 'application/gzip'],
  ['a.csv', '\x1f\x8b', 'text/csv'],
  ['a', '\x1f\x8b', 'application/gzip'],
  ['a', '', 'text/csv'],
])('the content type of %s follows the extension, or else the first bytes', async (name, start, expected) => {
  await using server = await startScriptedServer((url) => [requested(url, '/a'), stored])
  const bytes = new Blob([Uint8Array.from(start, (character) => character.charCodeAt(0)), 'x'])
  await new Sluice({ api: server.url, token: 't' }).upload(bytes, { fileName: name })
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({ content_type: expected, file_name: name })
})

test('an import that fails is an error with its last view, whatever a read in between has answered', async () => {
  const running = { import_id: one, state: 'processing', finished_at: null }
  const failed = { import_id: one, state: 'failed', error: 'empty file', finished_at: '2026-01-01T00:00:00.000Z' }
  await using server = await startScriptedServer((url) => [
    requested(url, '/a'),
    stored,
    { status: 200, body: running },
    'cut',
    { status: 500, body: { error: { messages: ['Internal server error'] } } },
    { status: 200, body: failed },
  ])
  const states: string[] = []
  // A wait has the patience for outages.
  const outcome = new Sluice({ api: server.url, token: 't', patienceMs: 1 }).import(file, {
    onProgress: (now) => now.phase === 'processing' && states.push(now.view.state),
  })
  await expect(outcome).rejects.toMatchObject({ name: 'ImportFailedError', view: failed })
  expect(states).toEqual(['processing', 'failed'])
})
