import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Upload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { createSigner } from '../signature/signing-key.ts'
import { readDeclaredBody } from './declared.ts'
import { openUpload } from './upload-body.ts'

const chunkSigning = {
  signer: createSigner('secret', { accessKeyId: 'a', date: '20250101', region: 'r' }, '20250101T000000Z'),
  seed: 'a'.repeat(64),
}

/** Frames data in chunks of the given sizes. A last chunk holds the rest. */
function frames(data: Uint8Array, sizes: number[]): Buffer {
  const parts: Buffer[] = []
  let start = 0
  for (const size of [...sizes, data.length]) {
    const piece = data.subarray(start, start + size)
    if (piece.length === 0) break
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), Buffer.from(piece), Buffer.from('\r\n'))
    start += piece.length
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

async function* cut(data: Buffer, sizes: number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const size of [...sizes, data.length]) {
    if (start >= data.length) return
    yield data.subarray(start, start + size)
    start += size
  }
}

function open(source: AsyncIterable<Buffer>, headers: Record<string, string>, payloadHash: string): Upload {
  return openUpload(source, readDeclaredBody(new Map(Object.entries(headers)), payloadHash), chunkSigning)
}

async function read(upload: Upload): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of upload.chunks) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 20 })

describe('a chunked body', () => {
  const form = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'

  test('yields its bytes, whatever the sizes of its chunks and of the packets', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), sizes, sizes, async (data, frameSizes, cuts) => {
        const headers = { 'x-amz-decoded-content-length': String(data.length) }
        const upload = open(cut(frames(data, frameSizes), cuts), headers, form)
        expect((await read(upload)).equals(data)).toBe(true)
        expect(upload.digests().md5).toBe(createHash('md5').update(data).digest('hex'))
      }),
    )
  })

  test('yields no more blocks than packets that arrived, however short its chunks are', async () => {
    const data = Buffer.alloc(20_000, 'x')
    const framed = frames(data, Array(data.length).fill(1))
    const wireChunks = Array(4).fill(framed.length / 4)
    const upload = open(cut(framed, wireChunks), { 'x-amz-decoded-content-length': String(data.length) }, form)
    const seen: Uint8Array[] = []
    for await (const chunk of upload.chunks) seen.push(chunk)
    expect(Buffer.concat(seen).equals(data)).toBe(true)
    expect(seen.length).toBeLessThanOrEqual(5)
  })

  test('of random bytes is refused and never hangs', async () => {
    const rubbish = fc.oneof(fc.uint8Array(), fc.string({ unit: fc.constantFrom('0', '5', 'a', '\r', '\n', ';', ':') }))
    await fc.assert(
      fc.asyncProperty(rubbish, sizes, async (data, cuts) => {
        const upload = open(cut(Buffer.from(data), cuts), { 'x-amz-decoded-content-length': '1000' }, form)
        await expect(read(upload)).rejects.toBeInstanceOf(S3Error)
      }),
    )
  })
})

test('the last bytes are yielded only when everything is verified', async () => {
  const source = cut(Buffer.from('abcdef'), [2, 2])
  const md5 = createHash('md5').update('other!').digest('base64')
  const upload = open(source, { 'content-length': '6', 'content-md5': md5 }, 'UNSIGNED-PAYLOAD')
  const seen: string[] = []
  await expect(async () => {
    for await (const chunk of upload.chunks) seen.push(Buffer.from(chunk).toString())
  }).rejects.toMatchObject({ code: 'BadDigest' })
  expect(seen).toEqual(['ab', 'cd'])
})

test('digests cannot be read before the end of the body', () => {
  const upload = open(cut(Buffer.from('a'), []), { 'content-length': '1' }, 'UNSIGNED-PAYLOAD')
  expect(() => upload.digests()).toThrow('before the body was read')
})
