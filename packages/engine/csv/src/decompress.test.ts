import { randomBytes } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decompress } from './decompress.ts'
import { FileError } from './file-error.ts'
import { cut, cuts, sourceOf } from './testing/documents.ts'

const text = Buffer.from('user_id,age\n1,2\n')
const limitBytes = 2 ** 30

async function gunzipped(...chunks: Buffer[]): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(decompress(sourceOf(chunks), { gzip: true, limitBytes })))
}

/** Resolves when a stream is closed. Does not listen for errors, so that an unhandled error fails the run. */
function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve()
    else stream.once('close', resolve)
  })
}

// design.md §3, Sizes; design.md §3, Gzip.
describe('decompress of a gzip file', () => {
  test('returns the compressed bytes', async () => {
    expect(await gunzipped(gzipSync(text))).toEqual(text)
    expect(await gunzipped(gzipSync(Buffer.alloc(0)))).toEqual(Buffer.alloc(0))
  })

  test('returns several members as one stream, however the bytes are cut', async () => {
    const members = fc.array(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      { minLength: 1, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(members, cuts, async (parts, shares) => {
        const file = Buffer.concat(parts.map((part) => gzipSync(part)))
        expect(await gunzipped(...cut(file, shares))).toEqual(Buffer.concat(parts))
      }),
    )
  })

  test.each([
    ['no bytes', Buffer.alloc(0), 'empty file'],
    ['plain CSV', text, 'not in gzip format'],
    ['one byte', Buffer.from([0x1f]), 'not in gzip format'],
    ['zip', Buffer.from('PK\x03\x04'), 'not in gzip format'],
    ['the first two bytes alone', Buffer.from([0x1f, 0x8b]), 'file maybe corrupt'],
    ['an unknown method', Buffer.from([0x1f, 0x8b, 0x07, 0, 0, 0, 0, 0, 0, 0]), 'file maybe corrupt'],
    ['text after the member', Buffer.concat([gzipSync(text), Buffer.from('rest')]), 'file maybe corrupt'],
    ['zero bytes after the member', Buffer.concat([gzipSync(text), Buffer.alloc(512)]), 'file maybe corrupt'],
    [
      'a member after zero bytes',
      Buffer.concat([gzipSync(text), Buffer.alloc(9), gzipSync(text)]),
      'file maybe corrupt',
    ],
  ])('refuses %s, however the bytes are cut', async (_, file, message) => {
    await fc.assert(
      fc.asyncProperty(cuts, async (shares) => {
        await expect(gunzipped(...cut(file, shares))).rejects.toThrow(new FileError(message))
      }),
      { numRuns: 30 },
    )
  })

  test('refuses a file that is cut off anywhere', async () => {
    const file = gzipSync(text)
    for (let length = 2; length < file.length; length++) {
      await expect(gunzipped(file.subarray(0, length))).rejects.toThrow(new FileError('file maybe corrupt'))
    }
  })

  test('returns the same bytes before damage, however the file arrives and however slowly it is read', async () => {
    const file = gzipSync(Array.from({ length: 60_000 }, (_, row) => `user${row},${row}\n`).join(''))
    const before = async (shares: readonly number[], pause: () => Promise<unknown>) => {
      let read = 0
      const reading = async () => {
        for await (const chunk of decompress(sourceOf(cut(damaged, shares)), { gzip: true, limitBytes })) {
          read += chunk.length
          await pause()
        }
      }
      await expect(reading()).rejects.toThrow(new FileError('file maybe corrupt'))
      return read
    }
    const damaged = Buffer.from(file)
    damaged.fill(0xff, 70_000, 70_300)
    const expected = await before([], async () => {})
    expect(expected).toBeGreaterThan(0)
    const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    await fc.assert(
      fc.asyncProperty(cuts, fc.boolean(), async (shares, isSlow) => {
        expect(await before(shares, isSlow ? settled : async () => {})).toBe(expected)
      }),
      { numRuns: 30 },
    )
  })

  test('stops a decompression bomb at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    let read = 0
    const reading = async () => {
      for await (const chunk of decompress(sourceOf([bomb]), { gzip: true, limitBytes: 1_000_000 }))
        read += chunk.length
    }
    await expect(reading()).rejects.toThrow(new FileError('uncompressed size over 1000000 bytes'))
    expect(read).toBe(1_000_000)
  })
})

describe('decompress of a file that is not gzip', () => {
  test.each([
    ['text', text],
    ['no bytes, as if reading resumes at the end', Buffer.alloc(0)],
    ['bytes of gzip', gzipSync(text)],
  ])('passes %s through', async (_, file) => {
    expect(Buffer.concat(await Array.fromAsync(decompress(sourceOf([file]), { gzip: false, limitBytes })))).toEqual(
      file,
    )
  })

  test('accepts exactly as many bytes as the limit, and no more', async () => {
    const read = (most: number) => Array.fromAsync(decompress(sourceOf([text]), { gzip: false, limitBytes: most }))
    expect(Buffer.concat(await read(text.length))).toEqual(text)
    await expect(read(text.length - 1)).rejects.toThrow(
      new FileError(`uncompressed size over ${text.length - 1} bytes`),
    )
  })
})

describe.each([true, false])('decompress and its source (gzip: %s)', (gzip) => {
  const data = randomBytes(2 ** 20)
  const file = gzip ? gzipSync(data) : data

  test('a stream is destroyed when the reader stops early', async () => {
    const stream = Readable.from(cut(file, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]))
    for await (const _ of decompress(stream, { gzip, limitBytes })) break
    await closed(stream)
  })

  test('a stream that waits for more bytes is destroyed too', async () => {
    const stream = new PassThrough()
    stream.write(file.subarray(0, file.length - 100))
    for await (const _ of decompress(stream, { gzip, limitBytes })) break
    await closed(stream)
  })

  test('a stream is destroyed at the limit', async () => {
    const stream = Readable.from(cut(file, [0.25, 0.5, 0.75]))
    await expect(Array.fromAsync(decompress(stream, { gzip, limitBytes: 10 }))).rejects.toThrow(FileError)
    await closed(stream)
  })

  test('an error of the source is not reported as a damaged file', async () => {
    async function* failing() {
      yield file.subarray(0, 1000)
      throw new Error('connection lost')
    }
    const reading = Array.fromAsync(decompress(failing(), { gzip, limitBytes }))
    await expect(reading).rejects.toThrow('connection lost')
  })

  test('a stream that breaks is not reported as a damaged file', async () => {
    const stream = new PassThrough()
    stream.write(file.subarray(0, 1000))
    const reading = Array.fromAsync(decompress(stream, { gzip, limitBytes }))
    stream.destroy(new Error('connection lost'))
    await expect(reading).rejects.toThrow('connection lost')
  })
})
