import { execFileSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Backend, Upload } from '@sluice/s3-endpoint'
import { send } from '@sluice/s3-endpoint/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createDiskBackend } from './backend.ts'
import { testBucket as bucket, makeDirectory, runEndpoint } from './start.fixture.ts'

const objectName = { bucket, key: 'k' }
const metadata = { contentType: 'text/csv', user: {} }

function upload(body: string, end: () => void = () => undefined): Upload {
  async function* chunks() {
    yield Buffer.from(body)
    end()
  }
  return {
    size: body.length,
    accessKeyId: '',
    signature: '',
    chunks: chunks(),
    algorithm: undefined,
    digests: () => ({ md5: 'etag', checksums: {} }),
  }
}

async function open(root: string): Promise<Backend> {
  const backend = await createDiskBackend({ root })
  await backend.createBucket(bucket)
  return backend
}

async function contents(backend: Backend): Promise<string | undefined> {
  const object = await backend.openObject(objectName)
  if (object === undefined) return undefined
  const found = await text(object.read({ start: 0, end: object.info.size - 1 }))
  await object.close()
  return found
}

describe('a write', () => {
  test('that fails after its last byte changes nothing and leaves no file', async () => {
    const root = await makeDirectory()
    const backend = await open(root)
    await backend.putObject(objectName, upload('old'), metadata)
    const failing = upload('new', () => {
      throw new Error('not what was signed')
    })
    await expect(backend.putObject(objectName, failing, metadata)).rejects.toThrow('not what was signed')
    expect(await contents(backend)).toBe('old')
    expect(await readdir(join(root, 'temporary'))).toEqual([])
  })

  test('is not visible before it is complete', async () => {
    const backend = await open(await makeDirectory())
    await backend.putObject(objectName, upload('old'), metadata)
    let during: Promise<string | undefined> | undefined
    const watched = upload('new', () => {
      during = contents(backend)
    })
    await backend.putObject(objectName, watched, metadata)
    expect(await during).toBe('old')
    expect(await contents(backend)).toBe('new')
  })
})

test('a list of parts that is read while its upload is completed has all parts, or the upload does not exist', async () => {
  const backend = await open(await makeDirectory())
  const { multipart } = backend
  for (let round = 0; round < 30; round += 1) {
    const uploadId = await multipart.create(objectName, metadata, undefined)
    const etag = await multipart.putPart(objectName, uploadId, 1, upload('part'))
    const named = [{ partNumber: 1, etag, checksums: {} }]
    const declared = { type: undefined, checksum: undefined, size: undefined }
    let completing = true
    const completed = multipart
      .complete(objectName, uploadId, async () => named, declared)
      .finally(() => {
        completing = false
      })
    const partsListed = () => multipart.listParts(objectName, uploadId, { after: 0, limit: 1000 })
    while (completing) {
      for (const list of await Promise.allSettled(Array.from({ length: 4 }, partsListed))) {
        if (list.status === 'fulfilled') expect(list.value.parts).toHaveLength(1)
        else expect(list.reason).toMatchObject({ code: 'NoSuchUpload' })
      }
    }
    await completed
    expect(await contents(backend)).toBe('part')
  }
})

test('files that a killed process left incomplete are removed at the next start, and the objects are kept', async () => {
  const root = await makeDirectory()
  const backend = await open(root)
  await backend.putObject(objectName, upload('kept'), metadata)
  await writeFile(join(root, 'temporary', 'left-over'), 'half')
  expect(await contents(await open(root))).toBe('kept')
  expect(await readdir(join(root, 'temporary'))).toEqual([])
})

test('reading a damaged file is an error', async () => {
  const root = await makeDirectory()
  const backend = await open(root)
  await writeFile(join(root, 'buckets', bucket, 'objects', 'k.object'), 'no record at the end')
  await expect(backend.headObject(objectName)).rejects.toThrow('damaged')
})

test('an object may begin or end like the record that follows it in the file', async () => {
  const backend = await open(await makeDirectory())
  const body = '{"key":"x"}\u0000\u0000\u0000\u000bSLUICEo1'
  await backend.putObject(objectName, upload(body), metadata)
  expect(await contents(backend)).toBe(body)
})

const canMount = process.platform === 'linux' && process.getuid?.() === 0

test.runIf(canMount)(
  'a full disk refuses the upload and keeps the old object, and the endpoint still works',
  async () => {
    const root = await makeDirectory()
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', root])
    } catch {
      return console.warn('not tested: mounting a small disk is not permitted')
    }
    onTestFinished(() => void execFileSync('umount', ['--lazy', root]))
    const errors: unknown[] = []
    const endpoint = await runEndpoint({ root, onError: (error) => errors.push(error) })
    const path = `/${bucket}/k`
    await send(endpoint.url, { method: 'PUT', path, body: 'old' })
    const full = await send(endpoint.url, { method: 'PUT', path, body: Buffer.alloc(8 * 1024 * 1024) })
    expect(full).toMatchObject({ status: 507, code: 'InsufficientStorage' })
    expect(errors).toHaveLength(1)
    expect(await send(endpoint.url, { path })).toMatchObject({ status: 200, text: 'old' })
    expect(await send(endpoint.url, { method: 'PUT', path, body: 'new' })).toMatchObject({ status: 200 })
    expect(await readdir(join(root, 'temporary'))).toEqual([])
  },
)
