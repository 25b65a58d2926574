import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDecimal } from './decimal.ts'

// service.md, Profile entry; design.md §3, Types.
describe('parseDecimal', () => {
  test.each([
    ['1', 1],
    ['-0', 0],
    ['1.5', 1.5],
    ['+1.5', 1.5],
    ['-1.50', -1.5],
    ['.5', 0.5],
    ['.25', 0.25],
    ['-.5', -0.5],
    ['5.', 5],
    ['-0.0', 0],
    ['007.10', 7.1],
    ['1.5e3', 1500],
    ['1.e3', 1000],
    ['.1E-2', 0.001],
    ['1.0e+2', 100],
    ['0.1', 0.1],
    ['12345678901234567890.0', 12345678901234567000],
    ['1.0e-999', 0],
    ['1e3', 1000],
    ['1e+05', 100_000],
    ['9e-06', 0.000009],
    ['-1E+021', -1e21],
    ['+12e0', 12],
    ['9007199254740993e0', 9007199254740992],
    ['1.7976931348623157e308', Number.MAX_VALUE],
  ])('reads %s', (text, number) => {
    expect(parseDecimal(text)).toBe(number)
  })

  test.each([
    '',
    '.',
    '-.',
    '+',
    'e3',
    '1e',
    '1e+',
    '1e3.5',
    '1e400',
    '.e3',
    '1.5e',
    '1.5e+',
    '1.5e1.5',
    '1,5',
    '1.2.3',
    ' 1.5',
    '1.5 ',
    '1.5\n',
    '0x1.8',
    'NaN',
    'Infinity',
    '-Infinity',
    '1.0e999',
    '-1.0e999',
    '٫5',
    '9007199254740992',
  ])('refuses %j', (text) => {
    expect(parseDecimal(text)).toBeUndefined()
  })

  test('returns the double nearest to the text', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
    const written = fc
      .tuple(finite, fc.integer({ min: 1, max: 20 }), fc.boolean())
      .map(([value, places, exponent]) => (exponent ? value.toExponential(places) : value.toFixed(places)))
    fc.assert(
      fc.property(written, (text) => {
        const nearest = Number(text)
        expect(parseDecimal(text)).toBe(Number.isFinite(nearest) ? nearest + 0 : undefined)
      }),
    )
  })

  test('a value that is written and read again is the same', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(parseDecimal(value.toExponential())).toBe(value + 0)
      }),
    )
  })
})
