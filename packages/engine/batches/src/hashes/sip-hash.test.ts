import { readFile, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import wabt from 'wabt'
import { binary, HashProgram, hashBytes } from './sip-hash.ts'

const key = Buffer.from(Array.from({ length: 16 }, (_, index) => index))
const program = new HashProgram()
const hashRows = (...rows: Parameters<HashProgram['hashRows']>) => program.hashRows(...rows).hashes
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

test('a set has the hashes that were added, in whatever order, and no others', () => {
  const hash = fc.uint8Array({ minLength: hashBytes, maxLength: hashBytes })
  // If second halves are equal, the search for all hashes begins at one slot, the last one among others.
  const near = fc
    .tuple(fc.bigInt({ min: 1n, max: 40n }), fc.constantFrom(0, 7, 2 ** 31, 2 ** 32 - 1))
    .map(([first, second]) => {
      const bytes = Buffer.alloc(hashBytes)
      bytes.writeBigUInt64LE(first)
      bytes.writeUInt32LE(second, 8)
      return bytes
    })
  fc.assert(
    fc.property(fc.array(fc.oneof(hash, near), { maxLength: 60 }), (given) => {
      const set = new HashProgram(given.length + 1)
      const firstHalf = (bytes: Uint8Array) => Buffer.from(bytes.subarray(0, 8)).toString('hex')
      const halves = new Set<string>()
      for (const one of given) {
        const missing = set.add(Buffer.from(one))
        if (!halves.has(firstHalf(one))) expect(missing).toBe(1)
        halves.add(firstHalf(one))
      }
      expect(set.add(Buffer.concat(given))).toBe(0)
    }),
  )
})

test('rows beside a set have the same hashes, and those whose hashes were added are found', () => {
  const rows = fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 50 })
  fc.assert(
    fc.property(rows, fc.nat(), fc.nat(2 ** 40), (texts, period, origin) => {
      const given = texts.map((text) => Buffer.from(text))
      let end = origin
      const ends = Float64Array.from(given, ({ length }) => (end += length))
      const hashes = Buffer.from(hashRows(key, Buffer.concat(given), ends, origin))
      const isAdded = given.map((_, index) => index % (1 + (period % 5)) === 0)
      const set = new HashProgram(given.length + 1)
      for (const [index, added] of isAdded.entries())
        if (added) set.add(hashes.subarray(index * hashBytes, (index + 1) * hashBytes))
      const beside = set.hashRows(key, Buffer.concat(given), ends, origin)
      expect(beside.hashes).toEqual(hashes)
      expect(Array.from(beside.found ?? [], (byte) => byte === 1)).toEqual(isAdded)
    }),
  )
})
