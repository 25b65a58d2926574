import { JsonNumber } from '@sluice/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeCell } from './cell.ts'
import { parseJsonValue } from './json.ts'
import { plainNumber } from './plain-number.ts'

/** Parses a value in the JSON that a client sends. */
function json(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return typeof value === 'number' ? new JsonNumber(text) : value
}

// service.md, Profile entry; design.md §3, Strings; design.md §3, Types.
describe('a JSON value', () => {
  test.each([
    ['string', '""', ''],
    ['string', '" a "', ' a '],
    ['string', `"${'😀'.repeat(255)}"`, '😀'.repeat(255)],
    ['int', '0', 0],
    ['int', '-0', 0],
    ['int', '-9007199254740991', -9007199254740991],
    ['decimal', '12', 12],
    ['decimal', '57.10', 57.1],
    ['decimal', '1e+05', 100_000],
    ['decimal', '12345678901234567890.0', 12345678901234567000],
    ['decimal', '1e-400', 0],
    ['decimal', '-1.5e-3', -0.0015],
    ['decimal', '-0.0', 0],
    ['datetime', '"2026-01-01T00:30:00+09:00"', '2025-12-31 15:30:00.000'],
    ['datetime', '"2026-01-01T10:00Z"', '2026-01-01 10:00:00.000'],
    ['datetime', '"2026-01-01T10:00:00.1239-01:30"', '2026-01-01 11:30:00.123'],
  ] as const)('of type %s may be %s', (type, text, stored) => {
    expect(parseJsonValue(json(text), type)).toBe(stored)
  })

  test.each([
    ['string', '12', 'should be string'],
    ['string', 'null', 'should be string'],
    ['string', '["a"]', 'should be string'],
    ['string', `"${'x'.repeat(256)}"`, 'should be at most 255 characters'],
    ['string', '"a\\u0000"', 'should not contain U+0000'],
    ['string', '"\\ud800"', 'should not contain a lone surrogate'],
    ['string', '"\\ude00a"', 'should not contain a lone surrogate'],
    ['string', `"\\u0000${'x'.repeat(300)}"`, 'should not contain U+0000'],
    ['int', '"12"', 'should be integer'],
    ['int', '1.5', 'should be integer'],
    ['int', '9007199254740992', 'should be integer'],
    ['int', '4503599627370497.5', 'should be integer'],
    ['int', '0.99999999999999999999', 'should be integer'],
    ['int', '12.0', 'should be integer'],
    ['int', '1e3', 'should be integer'],
    ['decimal', '12345678901234567890', 'should be decimal'],
    ['decimal', '9007199254740993', 'should be decimal'],
    ['int', 'true', 'should be integer'],
    ['int', 'null', 'should be integer'],
    ['decimal', '"1.5"', 'should be decimal'],
    ['decimal', '1e999', 'should be decimal'],
    ['decimal', '{}', 'should be decimal'],
    ['datetime', '1767225600', 'should be iso8601 format'],
    ['datetime', '"2026-01-01"', 'should be iso8601 format'],
    ['datetime', '"2026-01-01T10:00:00"', 'should be iso8601 format'],
    ['datetime', '"2026-02-30T10:00:00Z"', 'should be iso8601 format'],
    ['datetime', '"2026-01-01 10:00:00.000"', 'should be iso8601 format'],
    ['datetime', '""', 'should be iso8601 format'],
  ] as const)('of type %s must not be %s', (type, text, message) => {
    expect(parseJsonValue(json(text), type)).toEqual({ message })
  })

  test('that is a number is accepted or refused as in a cell of a file, with the same result', () => {
    const number = fc.oneof(
      fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,25})?([eE][+-]?\d{1,3})?$/),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    )
    fc.assert(
      fc.property(number, fc.constantFrom('int', 'decimal'), (text, type) => {
        const [value, cell] = [parseJsonValue(json(text), type), encodeCell(Buffer.from(text), type)]
        expect(typeof value === 'number' ? plainNumber(value) : value).toEqual(cell)
        // The parser leaves numbers that JavaScript spells in the same way as they are.
        if (String(Number(text)) === text) expect(parseJsonValue(Number(text), type)).toEqual(value)
      }),
    )
  })

  test('that is accepted can be stored and read back unchanged', () => {
    const types = fc.constantFrom('string', 'int', 'decimal', 'datetime')
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.double(), fc.string({ unit: 'binary' })), types, (value, type) => {
        const stored = parseJsonValue(value, type)
        if (typeof stored === 'object') return
        expect(JSON.parse(JSON.stringify(stored))).toBe(stored)
        expect(String(stored).isWellFormed()).toBe(true)
      }),
    )
  })
})
