import { Readable } from 'node:stream'
import { setImmediate as nextCycle } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { JsonSyntaxError } from './parser.ts'
import { readJson } from './read.ts'

const read = (...chunks: Buffer[]) => readJson(Readable.from(chunks), 100_000)

test('other work runs between the pieces of a large document, even if the document arrived in one chunk', async () => {
  const value = Array.from({ length: 10_000 }, (_, index) => `${index}`.padEnd(255, '\u00e9'))
  const bytes = Buffer.from(JSON.stringify(value))
  let cycles = 0
  let isOver = false
  const otherWork = (async () => {
    for (; !isOver; cycles++) await nextCycle()
  })()
  expect(await read(bytes)).toEqual(value)
  isOver = true
  await otherWork
  // One cycle of the event loop for each 64 KiB.
  expect(cycles).toBeGreaterThan(bytes.length / 65_536 - 2)
})

test('characters and tokens may span two chunks', async () => {
  const bytes = Buffer.from('{"caf\u00e9":["\u{1f600}",-12.5e3,true]}')
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(await read(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual({
      'caf\u00e9': ['\u{1f600}', -12_500, true],
    })
  }
})

test.each([
  ['in the middle', Buffer.from([0x22, 0xff, 0x22])],
  ['cut off', Buffer.from([0x22, 0xf0, 0x9f])],
])('bytes that are not UTF-8 are refused after the last chunk: %s', async (_, bytes) => {
  let isRead = false
  const chunks = async function* () {
    yield bytes
    isRead = true
  }
  await expect(readJson(chunks(), 100_000)).rejects.toThrow(JsonSyntaxError)
  expect(isRead).toBe(true)
})

test('a byte order mark is dropped', async () => {
  expect(await read(Buffer.from('\ufeff{}'))).toEqual({})
})
