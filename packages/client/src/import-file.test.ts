import { openAsBlob, truncateSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import type { ImportProgress } from './import-file.ts'
import { type ScriptedAnswer, startScriptedServer } from './scripted-server.fixture.ts'
import { Sluice } from './sluice.ts'

// What every client of the API must do is in test/src/client/conformance/cases. Here is what only this client has.

const content = 'user_id,name\nalice,Alice\n'
const file = new File([content], 'people.csv')
const importId = '11111111-1111-4111-8111-111111111111'

const requested = (url: string): ScriptedAnswer => {
  const headers = { 'Content-Type': 'text/csv', 'Content-MD5': 'x' }
  const body = { direct_upload: { url: `${url}/a`, headers } }
  return { status: 200, headers: { 'X-Import-Id': importId }, body }
}
const stored: ScriptedAnswer = { status: 200 }

test('the progress of an upload ends with the size of the file, which is sent with its length', async () => {
  await using server = await startScriptedServer((url) => [requested(url), stored])
  const progress: ImportProgress[] = []
  const client = new Sluice({ api: `${server.url}/`, token: 't' })
  expect(await client.upload(file, { onProgress: (now) => void progress.push(now) })).toBe(importId)
  expect(server.received[1]).toMatchObject({ method: 'PUT', body: content, length: String(content.length) })
  const [bytes, totalBytes] = [content.length, content.length]
  expect(progress.filter(({ phase }) => phase === 'checksum').at(-1)).toEqual({ phase: 'checksum', bytes, totalBytes })
  expect(progress.at(-1)).toEqual({ phase: 'upload', bytes, totalBytes })
})

// design.md §2, Upload.
test.each([
  ['people.csv.gz', 'application/gzip', 'plain'],
  ['people.GZIP', 'application/gzip', 'plain'],
  ['people.csv', 'text/csv', 'gzip'],
  ['people', 'application/gzip', 'gzip'],
  ['people', 'text/csv', 'plain'],
])('a file with the name %s is announced as %s if its bytes are %s', async (name, type, bytes) => {
  await using server = await startScriptedServer((url) => [requested(url), stored])
  const sent = new File([bytes === 'gzip' ? new Uint8Array(gzipSync(content)) : content], name)
  await new Sluice({ api: server.url, token: 't' }).upload(sent)
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({ content_type: type })
})

test('an error of the callback, or of a file that has changed, is no fault of the network', async () => {
  await using server = await startScriptedServer((url) => [requested(url), 'cut', requested(url), 'cut'])
  const client = new Sluice({ api: server.url, token: 't', outagePatienceMs: 5_000 })
  const broken = (error: Error) => (now: ImportProgress) => {
    if (now.phase === 'upload') throw error
  }
  const error = new Error('no terminal')
  await expect(client.upload(file, { onProgress: broken(error) })).rejects.toBe(error)

  const folder = await mkdtemp(join(tmpdir(), 'sluice-client-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'people.csv')
  await writeFile(path, content)
  const shrinks = (now: ImportProgress) => {
    if (now.phase === 'checksum' && now.bytes === content.length) truncateSync(path, 3)
  }
  const refused = await client
    .upload(await openAsBlob(path), { fileName: 'people.csv', onProgress: shrinks })
    .catch((error: unknown) => error)
  expect(refused).toMatchObject({
    name: 'SluiceError',
    isTransient: false,
    message: expect.stringMatching(/the file cannot be read/),
  })
  expect(server.received.filter(({ method }) => method === 'PUT').length).toBeLessThanOrEqual(2)
})

test('a path instead of a file is answered by what to do', async () => {
  const client = new Sluice({ api: 'http://127.0.0.1:1', token: 't' })
  await expect(client.upload('people.csv' as unknown as Blob)).rejects.toThrow('await openAsBlob(path)')
})

test('each view of a wait is reported, the last one too', async () => {
  const running = { import_id: importId, state: 'processing', finished_at: null }
  const failed = { ...running, state: 'failed', error: 'empty file', finished_at: '2026-01-01T00:00:00.000Z' }
  const views = [running, failed].map((body) => ({ status: 200, body }))
  await using server = await startScriptedServer((url) => [requested(url), stored, ...views])
  const states: string[] = []
  const outcome = new Sluice({ api: server.url, token: 't' }).import(file, {
    onProgress: (now) => now.phase === 'processing' && states.push(now.view.state),
  })
  await expect(outcome).rejects.toMatchObject({ name: 'ImportFailedError', view: failed })
  expect(states).toEqual(['processing', 'failed'])
})

test('errors name the address that does not answer, or that another service has', async () => {
  await using server = await startScriptedServer(() => [
    'cut',
    { status: 307, headers: { Location: 'http://elsewhere.test' } },
    { status: 200, body: '<html>' },
    { status: 404, body: '<html>' },
  ])
  const client = new Sluice({ api: server.url, token: 't', patienceMs: 1 })
  const outcomes = [
    /127\.0\.0\.1:\d+ cannot be reached/,
    /redirects to http:\/\/elsewhere\.test/,
    /is not an API/,
    /it answered 404/,
  ]
  for (const message of outcomes) await expect(client.upload(file)).rejects.toThrow(message)
})
