import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseInteger } from './int.ts'

// service.md, Profile entry; design.md §3, Types.
describe('parseInteger', () => {
  test.each([
    ['0', 0],
    ['-0', 0],
    ['+7', 7],
    ['-12', -12],
    ['007', 7],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['00000000000000000000000000000001', 1],
  ])('reads %s', (text, number) => {
    expect(parseInteger(text)).toBe(number)
  })

  test.each([
    '',
    '-',
    '+',
    '--1',
    '1-',
    '1.0',
    '1.',
    '1e3',
    '0x10',
    '1_000',
    '1,000',
    ' 1',
    '1 ',
    '1\n',
    '١',
    '\uff11',
    'NaN',
    'Infinity',
    '1n',
    '9007199254740992',
    '-9007199254740992',
    '9007199254740993',
    '99999999999999999999',
    '9'.repeat(400),
  ])('refuses %j', (text) => {
    expect(parseInteger(text)).toBeUndefined()
  })

  test('accepts exactly the integers within ±(2^53−1)', () => {
    const limit = 2n ** 53n - 1n
    const nearLimit = fc.bigInt({ min: limit - 3n, max: limit + 3n })
    const magnitude = fc.oneof(nearLimit, fc.bigInt({ min: 0n, max: limit * 2n }))
    fc.assert(
      fc.property(magnitude, fc.constantFrom('', '+', '-'), fc.nat(3), (value, sign, zeros) => {
        const expected = value > limit ? undefined : Number(sign === '-' ? -value : value) + 0
        expect(parseInteger(`${sign}${'0'.repeat(zeros)}${value}`)).toBe(expected)
      }),
    )
  })
})
