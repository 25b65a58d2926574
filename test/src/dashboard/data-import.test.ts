import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import { cancelImport, runImport } from '@sluice/imports'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../environment/wait.ts'
import { holdImport } from '../imports/forced-states.ts'
import { claim, profilesOf, resultOf } from '../imports/import-fixture.ts'
import { boundary, eachOnDataImport, head, limitBytes, multipart, tail } from './data-import-fixture.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { formTokenIn, signIn } from './visitor.ts'

// Data import: uploads through the plain form. The page's script sends the same form. data-import.long.test.ts has
// files of the largest size.
const file = 'user_id,age\nu1,34\nghost,1\n'

const { dashboard, app, visitor, importsOf } = eachOnDataImport(['u1'])

/** Returns the ID of the import that an answer redirects to. */
const importAt = ({ headers }: { headers: Headers }) => headers.get('location')?.split('/').at(-1) ?? ''

// service.md, Endpoints 4; service.md, Limits.
describe('an uploaded file', () => {
  test('is stored under its name, gets the next sequence number, and is imported like any other file', async () => {
    const answer = await visitor.postFile(app.page, 'people.csv', new Blob([file]))
    expect(answer.status).toBe(303)
    const importId = importAt(answer)
    expect(answer.headers.get('location')).toBe(`/apps/${app.appId}/imports/${importId}`)
    expect(await importsOf()).toMatchObject([
      { import_id: importId, source: 'dashboard', state: 'queued', file_name: 'people.csv', dry_run: false },
    ])
    const fixture = fixtureOf(dashboard)
    await runImport(fixture.context, await claim(fixture, app.appId, importId), new AbortController().signal)
    expect((await resultOf(fixture, app.appId, importId)).view).toMatchObject({
      ...{ state: 'completed', source: 'dashboard', rows_applied: 1, rows_failed: 1 },
    })
    expect(await profilesOf(fixture, app.appId)).toEqual({ u1: { age: 34 } })
    expect((await visitor.get(`/apps/${app.appId}/imports/${importId}`)).text).toContain('<h1>people.csv</h1>')
  })

  test('is refused with an explanation if too many imports of the app wait, and leaves no trace', async () => {
    await dashboard.db
      .insertInto('imports')
      .values(
        Array.from({ length: 1_000 }, () => ({
          app_id: app.appId,
          source: 'bucket' as const,
          state: 'queued' as const,
          object_key: 'none',
          content_type: 'text/csv' as const,
        })),
      )
      .execute()
    const answer = await visitor.postFile(app.page, 'people.csv', new Blob([file]))
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('60')
    expect(answer.text).toContain(
      '1000 imports of this app wait already. Please try again when some of them have ended.',
    )

    const [{ import_id: held } = { import_id: '' }] = await importsOf()
    await holdImport(dashboard.db, held)
    const again = await visitor.postFile(app.page, 'people.csv', new Blob([file]))
    expect(again.text).toContain(`wait already. The import ${held} is held: approve or cancel it.`)
    expect(again.text).toContain(`<a href="/apps/${app.appId}/imports/${held}">See the held import</a>`)
    expect(await importsOf()).toHaveLength(1_000)
  })

  test('is treated as compressed according to its content, whatever its name', async () => {
    const importId = importAt(await visitor.postFile(app.page, 'people.csv', new Blob([gzipSync(file)])))
    const fixture = fixtureOf(dashboard)
    await runImport(fixture.context, await claim(fixture, app.appId, importId), new AbortController().signal)
    expect(await profilesOf(fixture, app.appId)).toEqual({ u1: { age: 34 } })
  })

  test('is only checked if it is sent as a dry run', async () => {
    const importId = importAt(await visitor.postFile(app.page, 'people.csv', new Blob([file]), `${app.page}/dry-run`))
    const fixture = fixtureOf(dashboard)
    await runImport(fixture.context, await claim(fixture, app.appId, importId), new AbortController().signal)
    const { view } = await resultOf(fixture, app.appId, importId)
    expect(view).toMatchObject({ dry_run: true, rows_total: 2, rows_applied: 0, rows_failed: 1 })
    expect(await profilesOf(fixture, app.appId)).toEqual({ u1: {} })
  })

  test('that is not CSV is accepted, and its import reports the error', async () => {
    const importId = importAt(await visitor.postFile(app.page, 'empty.csv', new Blob([])))
    const fixture = fixtureOf(dashboard)
    await runImport(fixture.context, await claim(fixture, app.appId, importId), new AbortController().signal)
    expect((await resultOf(fixture, app.appId, importId)).view).toMatchObject({ state: 'failed', error: 'empty file' })
  })

  test('with an invalid name is accepted, and keeps the valid part of its name', async () => {
    await visitor.postFile(app.page, `../../\0${'<b>'.repeat(200)}.csv`, new Blob([file]))
    const [{ file_name: name } = { file_name: null }] = await importsOf()
    expect(name?.length).toBeLessThanOrEqual(255)
    expect((await visitor.get(`/apps/${app.appId}/imports`)).text).not.toContain('<b>')
  })
})

describe('a refused upload leaves no trace', () => {
  test('a form without a file', async () => {
    const answer = await visitor.postFile(app.page, '', new Blob([]))
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('Choose a file first.')
    expect(await importsOf()).toEqual([])
  })

  test('a form without its token, and a body that is not a form', async () => {
    const body = `${head}${file}${tail}`
    expect((await visitor.postBody(app.page, body, multipart)).status).toBe(403)
    expect((await visitor.postBody(app.page, body, { 'Content-Type': 'multipart/form-data' }, app.page)).status).toBe(
      400,
    )
    expect((await visitor.postBody(app.page, `--${boundary}`, multipart, app.page)).status).toBe(400)
    expect((await visitor.postBody(app.page, file, { 'Content-Type': 'text/csv' }, app.page)).status).toBe(415)
    expect(await importsOf()).toEqual([])
  })

  test('a form that ends within a file part without a name, which must not end the process', async () => {
    const unnamed = `${head.replace('people.csv', '')}${file}`
    expect((await visitor.postBody(app.page, unnamed, multipart, app.page)).status).toBe(400)
    expect((await visitor.get(app.page)).status).toBe(200)
    expect(await importsOf()).toEqual([])
  })

  test('a file for another app', async () => {
    const other = await openAppWith(dashboard, [])
    const stranger = await signIn(dashboard, other.email)
    const theirs = `/apps/${other.appId}/data-import`
    expect((await stranger.get(app.page)).status).toBe(404)
    expect((await stranger.postFile(theirs, 'people.csv', new Blob([file]), app.page)).status).toBe(404)
    expect(await importsOf()).toEqual([])
  })

  test('a file whose declared length is too large, before any of it is read', async () => {
    // A form may have a megabyte of other fields.
    const { request, answered } = await openUpload({ 'Content-Length': limitBytes + 2 * 2 ** 20 })
    request.flushHeaders()
    expect(await answered).toBe(413)
    request.destroy()
    expect(await importsOf()).toEqual([])
  })

  test('a file of more than 150 MiB whose length is not declared', async () => {
    // The bytes are dropped, because storing them takes most of the time.
    const stored = vi.spyOn(dashboard.storage, 'writeStream').mockImplementation(async (_, content) => {
      for await (const _ of content);
    })
    onTestFinished(() => stored.mockRestore())
    const { request, answered } = await openUpload()
    request.write(head)
    const rows = Buffer.alloc(2 ** 20, 'somebody,1\n')
    for (let sent = 0; sent < limitBytes; sent += rows.length) {
      if (!request.write(rows)) await once(request, 'drain')
    }
    request.end(`x${tail}`)
    expect(await answered).toBe(413)
    expect(await importsOf()).toEqual([])
  })

  test('a file whose sender breaks off', async () => {
    const body = openBody()
    const sending = visitor.postBody(app.page, body.stream, multipart, app.page)
    sending.catch(() => {})
    body.write(head + file)
    await until('the import', async () => (await importsOf()).length === 1)
    const [{ object_key: key } = { object_key: '' }] = await importsOf()
    body.breakOff()
    await expect(sending).rejects.toThrow()
    await until('the import to be gone', async () => (await importsOf()).length === 0)
    expect(await dashboard.storage.stat(key)).toBeUndefined()
  })
})

test('an import that is cancelled while its file is uploaded stays cancelled', async () => {
  const body = openBody()
  const sending = visitor.postBody(app.page, body.stream, multipart, app.page)
  body.write(head + file)
  const [{ import_id: importId } = { import_id: '' }] = await until('the import', async () => {
    const found = await importsOf()
    return found.length === 1 && found
  })
  await cancelImport(dashboard.db, { appId: app.appId, importId })
  body.write(tail)
  body.end()
  expect((await sending).headers.get('location')).toBe(`/apps/${app.appId}/imports`)
  expect(await importsOf()).toMatchObject([{ state: 'cancelled' }])
})

/** Opens the request of an upload. The caller sends the body. Returns the status of the answer, too. */
async function openUpload(headers: Record<string, number> = {}) {
  const token = formTokenIn((await visitor.get(app.page)).text)
  const request = httpRequest(new URL(app.page, dashboard.url), {
    method: 'POST',
    headers: { ...multipart, Cookie: visitor.cookies(), 'X-Form-Token': token, ...headers },
  })
  const answered = once(request, 'response').then(([response]: IncomingMessage[]) => response?.statusCode)
  return { request, answered }
}

/** Creates a request body that a test writes in pieces. */
function openBody() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const write = (text: string) => void writer.write(Buffer.from(text)).catch(() => {})
  return {
    stream: readable,
    write,
    end: () => void writer.close(),
    breakOff: () => void writer.abort(new Error('simulated')),
  }
}
