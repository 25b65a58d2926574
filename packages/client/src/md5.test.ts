import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checksumOf } from './checksum.ts'
import { Md5 } from './md5.ts'

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('base64')

test('the digest for browsers is that of Node, however the bytes are divided into chunks', () => {
  const chunk = fc.uint8Array({ maxLength: 200 })
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 8 }), (chunks) => {
      const hash = new Md5()
      for (const each of chunks) hash.update(each)
      expect(Buffer.from(hash.digest()).toString('base64')).toBe(md5(Buffer.concat(chunks)))
    }),
  )
})

test('the digest is right for every length around a block', () => {
  for (let length = 0; length <= 130; length++) {
    const bytes = new Uint8Array(length).fill(0xa5)
    const hash = new Md5()
    hash.update(bytes)
    expect(Buffer.from(hash.digest()).toString('base64'), `${length} bytes`).toBe(md5(bytes))
  }
})

test('a checksum is the same with and without the MD5 of Node, and the progress ends with the size', async () => {
  const bytes = Buffer.alloc(300_000, 'user_id,name\n')
  const file = new Blob([bytes])
  const seen: number[] = []
  const expected = md5(bytes)
  expect(await checksumOf(file, { onBytes: (count) => void seen.push(count) })).toBe(expected)
  expect(await checksumOf(file, { hasher: new Md5() })).toBe(expected)
  expect(seen.at(-1)).toBe(bytes.length)
})

test('an aborted checksum rejects with the reason of the signal', async () => {
  const reason = new Error('stop')
  await expect(checksumOf(new Blob(['a']), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})
