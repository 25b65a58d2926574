import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCell, encodeCell } from './cell.ts'
import { notUtf8, tooLong, typeMismatch } from './value-type.ts'

const latin1 = Buffer.from([0x63, 0x61, 0x66, 0xe9])

// service.md, Bulk import CSV file.
describe('encodeCell', () => {
  test.each([
    ['12', 'int', '12'],
    ['+012', 'int', '12'],
    ['-0', 'int', '0'],
    ['1.50', 'decimal', '1.5'],
    ['3', 'decimal', '3'],
    ['.5', 'decimal', '0.5'],
    ['1.0e21', 'decimal', '1000000000000000000000'],
    ['2024-01-02T03:04+09:00', 'datetime', '2024-01-01 18:04:00.000'],
    ['gold', 'string', 'gold'],
    [' gold ', 'string', ' gold '],
    ['12', 'string', '12'],
    ['say "hi"\\\n', 'string', 'say "hi"\\\n'],
    ['日本 😀', 'string', '日本 😀'],
    ['\ufeffx', 'string', '\ufeffx'],
  ] as const)('%j as %s is stored as %s', (text, type, stored) => {
    expect(encodeCell(Buffer.from(text), type)).toBe(stored)
  })

  test.each([
    ['text for an int', Buffer.from('x'), 'int', typeMismatch.int],
    ['a point for an int', Buffer.from('1.0'), 'int', typeMismatch.int],
    ['text for a decimal', Buffer.from('1,5'), 'decimal', typeMismatch.decimal],
    ['a wrong date', Buffer.from('2024-02-30'), 'datetime', typeMismatch.datetime],
    ['a long string', Buffer.from('é'.repeat(256)), 'string', tooLong],
    ['bytes that are not UTF-8', latin1, 'string', notUtf8],
    ['bytes that are not UTF-8, whatever the type', latin1, 'int', notUtf8],
    ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80]), 'string', notUtf8],
    ['an overlong form', Buffer.from([0xc0, 0x80]), 'string', notUtf8],
    ['NUL', Buffer.from('a\0b'), 'string', notUtf8],
    ['NUL after a letter that is not ASCII', Buffer.from('é\0'), 'decimal', notUtf8],
  ] as const)('refuses %s', (_, cell, type, problem) => {
    expect(encodeCell(cell, type)).toBe(problem)
  })

  // service.md, Error CSV file.
  test('the message of a problem is the documented message without the name of the column', () => {
    const messages = [notUtf8, typeMismatch.int, typeMismatch.decimal, typeMismatch.datetime, tooLong].map(
      (p) => p.message,
    )
    expect(messages).toEqual([
      'should be UTF-8',
      'should be integer',
      'should be decimal',
      'should be iso8601 format',
      'should be at most 255 characters',
    ])
  })

  test('whatever is stored is a string unchanged, or a number without an exponent, or a time', () => {
    const cells = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).map((text) => Buffer.from(text)),
    )
    fc.assert(
      fc.property(cells, fc.constantFrom('string', 'int', 'decimal', 'datetime'), (cell, type) => {
        const stored = encodeCell(cell, type)
        if (typeof stored !== 'string') return
        if (type === 'string') expect(Buffer.from(stored)).toEqual(cell)
        else expect(stored).toMatch(type === 'datetime' ? /^[-\d]{10} [:.\d]{12}$/ : /^-?\d+(?:\.\d+)?$/)
      }),
      { numRuns: 500 },
    )
  })
})

test('decodeCell agrees with a strict decoder on any bytes', () => {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      let expected: string | undefined
      try {
        expected = strict.decode(bytes)
      } catch {
        expected = undefined
      }
      if (expected?.includes('\0')) expected = undefined
      expect(decodeCell(Buffer.from(bytes))).toBe(expected)
    }),
    { numRuns: 1000 },
  )
})
