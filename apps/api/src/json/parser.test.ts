import { JsonNumber } from '@sluice/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonParser, JsonSyntaxError, TooManyValues } from './parser.ts'

/** Parses a text in pieces of these lengths, which are repeated until the end of the text. */
function parse(text: string, lengths: readonly number[] = [text.length], maxValues = 1_000_000): unknown {
  const parser = new JsonParser(maxValues)
  for (let at = 0, piece = 0; at < text.length; piece++) {
    const length = Math.max(1, lengths[piece % lengths.length] ?? 1)
    parser.write(text.slice(at, at + length))
    at += length
  }
  return parser.end()
}

/** Returns the value of `JSON.parse`; no value if it throws. */
function expected(text: string): { value?: unknown } {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return {}
  }
}

function actual(text: string, lengths?: readonly number[]): { value?: unknown } {
  try {
    return { value: parse(text, lengths) }
  } catch (error) {
    expect(error).toBeInstanceOf(JsonSyntaxError)
    return {}
  }
}

const lengths = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })

describe('a document in pieces', () => {
  test('has the same value as from JSON.parse, wherever it is cut', () => {
    const json = fc.oneof(
      fc.json({ stringUnit: 'binary' }),
      fc.jsonValue().map((value) => JSON.stringify(value, null, 2)),
    )
    fc.assert(
      fc.property(json, lengths, (text, lengths) => {
        expect(parse(text, lengths)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('is refused if JSON.parse refuses it', () => {
    const pieces = fc.constantFrom(
      ...['{', '}', '[', ']', ':', ',', '"', '"a"', '"\\u12', '\\', '\\"', '"\u0001"', ' ', '\n', '\u00a0', '\ufeff'],
      ...[
        '1',
        '-',
        '01',
        '1.',
        '.5',
        '1e5',
        '1E+',
        'true',
        'nul',
        'null',
        'NaN',
        '"__proto__"',
        '"a":1',
        '{"a":',
        '[]',
      ],
    )
    const nearly = fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(nearly, lengths, (text, lengths) => {
        expect(actual(text, lengths)).toEqual(expected(text))
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    '',
    ' ',
    '[1 2]',
    '{"a" 1}',
    '{"a":1,}',
    '[1,]',
    '1 1',
    '[',
    '"',
    '{"a":1]',
    '[1}',
    '{1:2}',
    "'a'",
    '"a"b',
  ])('that is not JSON is refused: %j', (text) => expect(() => parse(text)).toThrow(JsonSyntaxError))

  test('a member called __proto__ is data', () => {
    const value = parse('{"__proto__":{"a":1},"b":2}', [3])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.entries(value as object)).toEqual([
      ['__proto__', { a: 1 }],
      ['b', 2],
    ])
  })

  test('has the last of two members with the same name', () => {
    expect(parse('{"a":1,"b":2,"a":3}', [1])).toEqual({ a: 3, b: 2 })
  })

  test('can be nested to any depth', () => {
    const depth = 50_000
    expect(parse(`${'['.repeat(depth)}${']'.repeat(depth)}`, [1_000])).toHaveLength(1)
  })
})

test('numbers keep their spelling if they are to, unless JavaScript has the same', () => {
  const parser = new JsonParser(100, true)
  parser.write('[12,-1.5,1e+21,12.0,-0,1E3,0.99999999999999')
  parser.write('999999,"12.0"]')
  const kept = ['12.0', '-0', '1E3', '0.99999999999999999999'].map((text) => new JsonNumber(text))
  expect(parser.end()).toEqual([12, -1.5, 1e21, ...kept, '12.0'])
})

test('all values and keys count towards the limit', () => {
  expect(parse('[1,"a",null,[],{"a":1}]', [2], 8)).toEqual([1, 'a', null, [], { a: 1 }])
  expect(() => parse('[1,"a",null,[],{"a":1}]', [2], 7)).toThrow(TooManyValues)
  expect(() => parse('['.repeat(100), [2], 50)).toThrow(TooManyValues)
})
