import { readFile, writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { cellsOf, readRows, rowOffset } from '@sluice/csv'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import wabt from 'wabt'
import { binary, foundStates, HashProgram, hashBytes } from './hash-program.ts'
import { hashOf } from './user-hash.ts'

const key = Buffer.from(Array.from({ length: 16 }, (_, index) => index))
const program = new HashProgram()
const hashRows = (...rows: Parameters<HashProgram['hashRows']>) => program.hashRows(...rows).hashes
const file = (name: string) => new URL(name, import.meta.url)

test('hash-program.ts has the binary form of hash-program.wat', async () => {
  const source = await readFile(file('hash-program.wat'), 'utf8')
  const { buffer } = (await wabt()).parseWat('hash-program.wat', source).toBinary({})
  const expected = Buffer.from(buffer).toString('base64')
  if (process.env.WRITE_BINARY !== undefined) {
    const program = await readFile(file('hash-program.ts'), 'utf8')
    await writeFile(file('hash-program.ts'), program.replace(binary, expected))
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
      const set = new HashProgram({ slots: given.length + 1, writtenBits: 64, userIdIndex: 0 })
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
      const set = new HashProgram({ slots: given.length + 1, writtenBits: 64, userIdIndex: 0 })
      for (const [index, added] of isAdded.entries())
        if (added) set.add(hashes.subarray(index * hashBytes, (index + 1) * hashBytes))
      const beside = set.hashRows(key, Buffer.concat(given), ends, origin)
      expect(beside.hashes).toEqual(hashes)
      expect(Array.from(beside.found ?? [], (state) => state !== foundStates.unknown)).toEqual(isAdded)
    }),
  )
})

const values = ['', '1', '"x,y"', '"q""q"', 'a\rb']
const ids = ['ann', '"ann"', '"a\nb"', 'ü', '"a""b"', 'a"b', '""', '', 'a\rb', ' ']
// Nothing after a row that is not plain is known in the same call, so most rows are.
const mostly = (usual: string, others: readonly string[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

test('a row that the set has is known only if no row before it that the set does not have is of its user', async () => {
  const row = fc.record({
    id: mostly('ann', ids),
    // Not both empty: a row without values is a blank line.
    others: fc.tuple(mostly('1', values), mostly('1', ['"x,y"'])),
    before: mostly('', [',\n', ',,\n', '\n', '"",\r\n']),
    isAdded: fc.boolean(),
  })
  const file = fc.record({
    rows: fc.array(row, { minLength: 1, maxLength: 20 }),
    userIdIndex: fc.nat(2),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    firstCall: fc.nat(20),
  })
  await fc.assert(
    fc.asyncProperty(file, async ({ rows, userIdIndex, lineEnd, firstCall }) => {
      const text = rows.map(({ id, others, before }) => before + others.toSpliced(userIdIndex, 0, id).join() + lineEnd)
      const set = new HashProgram({ slots: 100, writtenBits: 2 ** 22, userIdIndex })
      const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from(text.join(''))]), { columns: 3 }))
      if (block === undefined) throw new Error('no rows')
      const hashes = Buffer.from(hashRows(key, block.bytes, block.rowEnd, block.start))
      for (const [index, { isAdded }] of rows.entries())
        if (isAdded) set.add(hashes.subarray(index * hashBytes, (index + 1) * hashBytes))
      const written = new Set<string>()
      for (const [from, to] of [[0, firstCall] as const, [firstCall, block.count] as const]) {
        const start = rowOffset(block, Math.min(from, block.count))
        const ends = block.rowEnd.subarray(from, to)
        const { found } = set.hashRows(key, block.bytes.subarray(start), ends, block.start + start)
        const states = Array.from(found ?? [])
        for (const [index, state] of states.entries()) {
          const [id = Buffer.alloc(0)] = cellsOf(block, from + index).slice(userIdIndex)
          if (state === foundStates.known) expect(written).not.toContain(String(id))
          if (state !== foundStates.unknown || id.length === 0) continue
          written.add(String(id))
          set.noteWritten(hashOf(id, 0, id.length))
        }
      }
    }),
    { numRuns: 1_000 },
  )
})

test('a user whose row the set does not have counts as written, by the hash that others compute', () => {
  const set = new HashProgram({ slots: 2, writtenBits: 2 ** 22, userIdIndex: 1 })
  const row = Buffer.from('1,"a, b",2\n')
  const isWritten = (id: string) => set.isWritten(hashOf(Buffer.from(id), 0, id.length))
  expect(isWritten('a, b')).toBe(false)
  set.hashRows(key, row, Float64Array.of(row.length), 0)
  expect(isWritten('a, b')).toBe(true)
  expect(isWritten('a')).toBe(false)
})

test.each([0, 1, 2])('rows that the set has are known, if their IDs are plain: ID in column %i', (userIdIndex) => {
  const set = new HashProgram({ slots: 4, writtenBits: 2 ** 22, userIdIndex })
  const rows = ['ann', '"a, b"', 'ü'].map((id) => Buffer.from(`${['', '1'].toSpliced(userIdIndex, 0, id)}\n`))
  let end = 0
  const ends = Float64Array.from(rows, ({ length }) => (end += length))
  set.add(Buffer.from(hashRows(key, Buffer.concat(rows), ends, 0)))
  expect(set.hashRows(key, Buffer.concat(rows), ends, 0).found).toEqual(Uint8Array.of(1, 1, 1))
})
