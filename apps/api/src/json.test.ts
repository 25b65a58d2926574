import { Readable } from 'node:stream'
import { JsonNumber } from '@sluice/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonSyntaxError, parseJson, readText, TooManyValues } from './json.ts'

const parse = (text: string, maxValues = 1_000, keepsNumbers = false) => parseJson(text, maxValues, keepsNumbers)
const read = (...chunks: Buffer[]) => readText(Readable.from(chunks))

/** Counts values and keys of parsed JSON. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  const keys = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce<number>((sum, each) => sum + countOf(each), 1 + keys)
}

test.each(['{"a":1,}', '', ' ', '[1 2]', '{1:2}', "'a'", '01', '\u00a0'])('%j is no JSON', (text) => {
  expect(() => parse(text)).toThrow(JsonSyntaxError)
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
  await expect(readText(chunks())).rejects.toThrow(JsonSyntaxError)
  expect(isRead).toBe(true)
})

test('characters may span two chunks, and a byte order mark is dropped', async () => {
  const bytes = Buffer.from('\ufeff{"caf\u00e9":"\u{1f600}"}')
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(await read(bytes.subarray(0, cut), bytes.subarray(cut))).toBe('{"caf\u00e9":"\u{1f600}"}')
  }
})

test('a member called __proto__ is data', () => {
  for (const keepsNumbers of [false, true]) {
    const value = parse('{"__proto__":{"a":1},"b":2}', 100, keepsNumbers)
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.entries(value as object)).toEqual([
      ['__proto__', { a: 1 }],
      ['b', 2],
    ])
  }
})

describe('the limit of values', () => {
  test('counts all values and keys, in any spelling', () => {
    const json = fc.jsonValue().chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)))
    fc.assert(
      fc.property(json, (text) => {
        const count = countOf(JSON.parse(text))
        expect(parse(text, count)).toEqual(JSON.parse(text))
        expect(() => parse(text, count - 1)).toThrow(TooManyValues)
      }),
    )
  })

  test('counts nothing in strings, and ends at the end of any text', () => {
    expect(parse('["a,\\",[{:","\\\\"]', 3)).toEqual(['a,",[{:', '\\'])
    for (const text of ['"', '"\\', '[', '{"a', '[[1,']) expect(() => parse(text)).toThrow(JsonSyntaxError)
  })
})

describe('if numbers are to keep their spelling', () => {
  test('numbers that JavaScript spells in another way become a JsonNumber', () => {
    const kept = ['12.0', '-0', '1E3', '0.99999999999999999999'].map((text) => new JsonNumber(text))
    const text = '[12,-1.5,1e+21,12.0,-0,1E3,0.99999999999999999999,"12.0"]'
    expect(parse(text, 100, true)).toEqual([12, -1.5, 1e21, ...kept, '12.0'])
  })

  test('a document may still be nested to any depth', () => {
    const depth = 50_000
    expect(parse(`${'['.repeat(depth)}${']'.repeat(depth)}`, depth, true)).toHaveLength(1)
  })
})
