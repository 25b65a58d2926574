import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Storage } from '@sluice/storage'
import { describe, expect, test } from 'vitest'
import { eachWithApp } from './import-fixture.ts'

// An upload is replaced by an object with another ETag. This happens if a client lost the answer and sends its file
// again, and storage encrypts with keys of a key service (SSE-KMS). Such storage returns another ETag for each PUT,
// even for equal bytes. In these tests, an upload in parts has the other ETag.
const users = Array.from({ length: 40 }, (_, user) => `u${user}`)
const file = `user_id,a\n${users.map((user) => `${user},old\n`).join('')}`
const other = file.replaceAll('old', 'new')
const app = eachWithApp(users, { BATCH_ROWS: '5', INFERENCE_ROWS: '5' })

const keyOf = (importId: string) => `apps/${app.appId}/imports/${importId}/upload`
const imports = () => app.db.updateTable('imports').where('app_id', '=', app.appId)

/** Queues the file as an upload whose MD5 the client declared. */
async function queueDeclared(): Promise<string> {
  const importId = await app.queue(file)
  const checksum = createHash('md5').update(file).digest('base64')
  await imports().set({ checksum }).execute()
  return importId
}

/** Stores a file again under another ETag. */
async function replace(importId: string, content: string): Promise<void> {
  const key = keyOf(importId)
  const { storage } = app
  const before = await storage.stat(key)
  const uploadId = await storage.beginParts(key, { contentType: 'text/csv', user: {} })
  const body = { byteSize: content.length, chunks: Readable.from([Buffer.from(content)]) }
  const etag = await storage.putPart(key, uploadId, 1, body)
  await storage.completeParts(key, uploadId, [{ partNumber: 1, etag }])
  const after = await storage.stat(key)
  expect([after?.byteSize, after?.etag === before?.etag]).toEqual([before?.byteSize, false])
}

/** Runs the import until its third read fails after some batches, so that the next run reads the rest. */
async function runPartly(importId: string): Promise<number> {
  let reads = 0
  const storage: Storage = {
    ...app.storage,
    async read(key, options) {
      const stream = await app.storage.read(key, options)
      if (++reads < 3) return stream
      const all = Buffer.concat(await stream.toArray())
      async function* broken() {
        for (let at = 0; at < 160; at += 16) yield all.subarray(at, at + 16)
        throw new Error('connection reset')
      }
      return Readable.from(broken())
    },
  }
  const outcome = await app.run(importId, { storage })
  expect(outcome).toEqual({ outcome: 'postponed' })
  await imports().set({ retry_at: null }).execute()
  const { view } = await app.resultOf(importId)
  expect(view.rows_applied).toBeGreaterThan(0)
  expect(view.rows_applied).toBeLessThan(users.length)
  return view.rows_applied
}

const run = async (importId: string) => {
  await app.run(importId)
  return (await app.resultOf(importId)).view
}
const valuesOf = async () => {
  const profiles = await app.profiles()
  return users.map((user) => profiles[user]?.a)
}

describe('a file that was uploaded twice', () => {
  test('is imported as if it had been uploaded once', async () => {
    const importId = await queueDeclared()
    await replace(importId, file)
    expect(await run(importId)).toMatchObject({ state: 'completed', rows_applied: users.length, error: null })
    expect(await valuesOf()).toEqual(users.map(() => 'old'))
  })

  test('is imported to its end if the second upload happens during the import', async () => {
    const importId = await queueDeclared()
    await runPartly(importId)
    await replace(importId, file)
    expect(await run(importId)).toMatchObject({ state: 'completed', rows_applied: users.length, error: null })
    expect(await valuesOf()).toEqual(users.map(() => 'old'))
  })

  test('is compared once: later reads use its new ETag', async () => {
    const importId = await queueDeclared()
    await replace(importId, file)
    let whole = 0
    const storage: Storage = {
      ...app.storage,
      read(key, options) {
        if (options?.etag === undefined || options.from === undefined) whole += 1
        return app.storage.read(key, options)
      },
    }
    await app.run(importId, { storage })
    const { etag } = await app.db
      .selectFrom('imports')
      .select('etag')
      .where('import_id', '=', importId)
      .executeTakeFirstOrThrow()
    expect([whole, etag]).toEqual([1, (await app.storage.stat(keyOf(importId)))?.etag])
  })
})

describe('a file that was replaced by another one of equal size', () => {
  const replaced = { state: 'failed', error: 'the uploaded file was replaced' }

  test('fails its import before the first batch, and nothing is applied', async () => {
    const importId = await queueDeclared()
    await replace(importId, other)
    expect(await run(importId)).toMatchObject({ ...replaced, rows_applied: 0 })
    expect(await valuesOf()).toEqual(users.map(() => undefined))
  })

  test('fails its import after some batches: these stay applied, and nothing of the other file is applied', async () => {
    const importId = await queueDeclared()
    const applied = await runPartly(importId)
    await replace(importId, other)
    expect(await run(importId)).toMatchObject({ ...replaced, rows_applied: applied })
    expect(await valuesOf()).toEqual(users.map((_, user) => (user < applied ? 'old' : undefined)))
  })

  test('fails its import if the MD5 of the file is not known, whatever its bytes', async () => {
    const importId = await app.queue(file)
    await replace(importId, file)
    expect(await run(importId)).toMatchObject({ ...replaced, rows_applied: 0 })
  })
})
