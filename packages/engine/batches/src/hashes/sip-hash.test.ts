import { readFile, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import wabt from 'wabt'
import { binary, hashRows } from './sip-hash.ts'

const key = Buffer.from(Array.from({ length: 16 }, (_, index) => index))
const file = (name: string) => new URL(name, import.meta.url)

test('sip-hash.ts has the binary form of sip-hash.wat', async () => {
  const source = await readFile(file('sip-hash.wat'), 'utf8')
  const { buffer } = (await wabt()).parseWat('sip-hash.wat', source).toBinary({})
  const expected = Buffer.from(buffer).toString('base64')
  if (process.env.WRITE_BINARY !== undefined) {
    const program = await readFile(file('sip-hash.ts'), 'utf8')
    await writeFile(file('sip-hash.ts'), program.replace(binary, expected))
  }
  expect(binary).toBe(expected)
})

// From the reference implementation: the bytes 0, 1, 2, … with this key.
test.each([
  [0, 'a3817f04ba25a8e66df67214c7550293'],
  [1, 'da87c1d86b99af44347659119b22fc45'],
  [15, '5493e99933b0a8117e08ec0f97cfc3d9'],
])('the hash of %i bytes is that of the reference implementation', (bytes, hash) => {
  const row = Buffer.from(Array.from({ length: bytes }, (_, index) => index))
  expect(hashRows(key, row, Float64Array.of(bytes), 0).toString('hex')).toBe(hash)
})

test('rows are hashed together as each of them is hashed alone, wherever they begin in the file', () => {
  const rows = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 50 })
  fc.assert(
    fc.property(rows, fc.nat(2 ** 40), (given, origin) => {
      let end = origin
      const ends = Float64Array.from(given, ({ length }) => (end += length))
      const together = Buffer.from(hashRows(key, Buffer.concat(given), ends, origin))
      const alone = given.map((row) => Buffer.from(hashRows(key, row, Float64Array.of(row.length), 0)))
      expect(together).toEqual(Buffer.concat(alone))
    }),
  )
})

test('a row of megabytes is hashed whole: its last byte counts', () => {
  const row = Buffer.alloc(5 * 2 ** 20)
  const before = Buffer.from(hashRows(key, row, Float64Array.of(row.length), 0))
  row[row.length - 1] = 1
  expect(hashRows(key, row, Float64Array.of(row.length), 0)).not.toEqual(before)
})

test('a row of which the bytes are cut off ends with the bytes', () => {
  const whole = Buffer.from(hashRows(key, Buffer.from('abc'), Float64Array.of(3), 0))
  expect(hashRows(key, Buffer.from('abc'), Float64Array.of(2_000_000), 0)).toEqual(whole)
})

test('another key gives another hash', () => {
  const row = Buffer.from('u1,34\n')
  const one = Buffer.from(hashRows(key, row, Float64Array.of(6), 0))
  expect(hashRows(Buffer.alloc(16, 1), row, Float64Array.of(6), 0)).not.toEqual(one)
  expect(() => hashRows(Buffer.alloc(15), row, Float64Array.of(6), 0)).toThrow('a key has 16 bytes')
})
