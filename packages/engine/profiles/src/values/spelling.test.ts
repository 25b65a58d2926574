import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { parseDecimal } from './decimal.ts'
import { addSpelling, ColumnInference } from './inference.ts'
import { parseInteger } from './int.ts'
import { SpellingLosses } from './spelling.ts'
import { isOfType, TextInference } from './text-inference.ts'

function lossesOf(numbers: readonly string[], type: 'int' | 'decimal') {
  const losses = new SpellingLosses()
  for (const number of numbers) losses.add(number)
  return losses.in(type)
}

// second-day.md §1, Warnings.
describe('numbers that lose their spelling', () => {
  test.each([
    ['a leading 0', ['007', '7', '010'], 'int', '2 of 3 values begin with 0, which int does not keep', ['007', '010']],
    ['a leading 0 after a sign', ['-01'], 'int', '1 of 1 values begin with 0, which int does not keep', ['-01']],
    [
      'a leading 0 in a decimal',
      ['00.5', '0.5'],
      'decimal',
      '1 of 2 values begin with 0, which decimal does not keep',
      ['00.5'],
    ],
    ['a leading +', ['+1', '1'], 'int', '1 of 2 values begin with +, which int does not keep', ['+1']],
    [
      'over 15 digits in a decimal',
      ['1234567890.123456', '0.00012345', '1.5e300', '1234567890123456E3'],
      'decimal',
      '2 of 4 values have more than 15 significant digits, which decimal does not keep',
      ['1234567890.123456', '1234567890123456E3'],
    ],
  ] as const)('are counted with %s', (_, numbers, type, message, examples) => {
    expect(lossesOf(numbers, type)).toEqual([{ message, examples: [...examples] }])
  })

  test.each([
    ['0', 'int'],
    ['-12', 'int'],
    ['9007199254740991', 'int'],
    ['9007199254740991', 'decimal'],
    ['0.5', 'decimal'],
    ['12345678901234.5', 'decimal'],
    ['0.00123456789012345', 'decimal'],
  ] as const)('%s keeps its spelling as %s', (number, type) => {
    expect(lossesOf([number], type)).toEqual([])
  })

  test('are the same whether cells or texts are counted, and whether or not counting was interrupted', () => {
    const number = fc.stringMatching(/^[+-]?\d{0,18}(\.\d{0,3})?(e\d)?$/).filter((text) => text !== '')
    const texts = fc.array(fc.oneof(number, fc.constantFrom('0', '-0', '00', '+1', 'x', '0x', 'é')), { maxLength: 8 })
    fc.assert(
      fc.property(texts, fc.constantFrom('int', 'decimal'), fc.nat(8), (values, type, interruption) => {
        let losses = new SpellingLosses()
        const expected = new SpellingLosses()
        for (const [at, value] of values.entries()) {
          if (at === interruption) losses = SpellingLosses.from(losses.counts, losses.in(type))
          const cell = Buffer.from(`0${value}0`)
          addSpelling(losses, type, cell, 1, cell.length - 1)
          if (isOfType(value, type)) expected.add(value)
          else expected.addExact()
        }
        expect(losses.in(type)).toEqual(expected.in(type))
        expect(losses.counts[0]).toBe(values.length)
      }),
    )
  })

  test.each(['007', '-07', '+7', '7', '0', '-0', '0.5', '1234567890123456.5', '123456789012345.6', '1234567890123456'])(
    'are the same for %s, whether its cell or its text is counted',
    (number) => {
      for (const type of ['int', 'decimal'] as const) {
        const [losses, expected] = [new SpellingLosses(), new SpellingLosses()]
        addSpelling(losses, type, Buffer.from(`0${number}0`), 1, number.length + 1)
        if (isOfType(number, type)) expected.add(number)
        expect(losses.in(type)).toEqual(expected.in(type))
      }
    },
  )

  // An import counts every number of a file.
  test.each(['0', '7', '-5', '0.5', '-0.5', '0x', '123456789012345'])('need no string of the cell %s', (number) => {
    const source = Buffer.from(`${'9'.repeat(20)}${number}9`)
    const text = vi.spyOn(source, 'toString')
    addSpelling(new SpellingLosses(), 'decimal', source, 20, source.length - 1)
    expect(text).not.toHaveBeenCalled()
  })

  test('has an example of 40 characters as it is', () => {
    expect(lossesOf(['1'.padStart(40, '0')], 'int')).toMatchObject([{ examples: ['1'.padStart(40, '0')] }])
  })

  test('has three examples at most, each once and cut off', () => {
    const long = `0${'0'.repeat(1000)}1`
    const [loss] = lossesOf(['01', '01', long, '02', '03'], 'int')
    expect(loss).toEqual({
      message: '5 of 5 values begin with 0, which int does not keep',
      examples: ['01', `${'0'.repeat(40)}…`, '02'],
    })
  })

  test('a number without a loss is written as it was read, except for an exponent and trailing zeros', () => {
    const digits = fc.stringMatching(/^[+-]?\d{1,17}$/)
    const decimals = fc.stringMatching(/^[+-]?\d{1,9}\.\d{0,8}[1-9]$/)
    fc.assert(
      fc.property(fc.oneof(digits, decimals), (number) => {
        const type = number.includes('.') ? 'decimal' : 'int'
        const stored = type === 'int' ? parseInteger(number) : parseDecimal(number)
        // JavaScript writes small fractions with an exponent, which is another spelling of the same digits.
        if (stored === undefined || lossesOf([number], type).length > 0 || String(stored).includes('e')) return
        expect(String(stored)).toBe(stored === 0 ? number.replace(/^-/, '').replace(/\.0+$/, '') : number)
      }),
    )
  })
})

// second-day.md §1, Warnings.
describe('an inferred column', () => {
  const warningsOf = (...values: string[]) => {
    const inference = new TextInference()
    for (const value of values) inference.add(value)
    return inference.warnings()
  }

  test('warns in the type that all values together have', () => {
    expect(warningsOf('007', '', '8').map(({ message }) => message)).toEqual([
      '1 of 2 values begin with 0, which int does not keep',
    ])
    expect(warningsOf('007', '1.5').map(({ message }) => message)).toEqual([
      '1 of 2 values begin with 0, which decimal does not keep',
    ])
  })

  test('has examples of values that are no numbers, and at most three', () => {
    const numbers = nine('#').flatMap((number) => nine(`${number}#`))
    const [warning] = warningsOf(...numbers, '1.5', '1e5', 'NULL')
    expect(warning?.examples).toEqual(['NULL'])
    expect(warningsOf(...numbers, 'a', 'b', '1e5', '2e5')[0]?.examples).toEqual(['a', 'b', '1e5'])
  })

  test('warns in the same way of cells', () => {
    const inference = new ColumnInference()
    for (const cell of ['007', '', '8']) inference.add(Buffer.from(cell))
    expect(inference.warnings()).toEqual(warningsOf('007', '8'))
  })

  const nine = (text: string) => Array.from({ length: 9 }, (_, index) => text.replace('#', String(index)))
  const noT = 'date-times that only lack the T or the colon of the offset, which makes the key a string'
  test.each([
    [[...nine('#'), 'N/A'], '9 of 10 values are numbers; the others make the key a string', ['N/A']],
    [[...nine('#'), ...nine('1.#'), '1e5', 'NULL', '-'], '19 of 21 values are numbers; the others', ['NULL', '-']],
    [[...nine('#'), '1e5'], '9 of 10 values are numbers; the others', ['1e5']],
    [[...nine('#'), '+41791234567'], '9 of 10 values are numbers; the others', ['+41791234567']],
    [[...nine('#'), '12345678901234567890'], '9 of 10 values are numbers; the others', ['12345678901234567890']],
    [[...nine('2026-01-0#').slice(1), '2026-01-09', '2026-01-10', '?'], '10 of 11 values are ISO', ['?']],
    [[...nine('2026-01-1#'), '-'], '9 of 10 values are ISO 8601 date-times; the others make the key a string', ['-']],
    [['2024-03-31 00:30:00+00', '2026-01-31T09:00+0130'], `2 of 2 values are ${noT}`, ['2024-03-31 00:30:00+00']],
    [[...nine('2026-01-1#'), ...nine('2026-01-1# 10:00'), '-'], `9 of 19 values are ${noT}`, ['2026-01-10 10:00']],
  ])('%j', (values, start, examples) => {
    const [warning, ...more] = warningsOf(...values)
    expect(more).toEqual([])
    expect(warning?.message).toContain(start)
    expect(warning?.examples.slice(0, examples.length)).toEqual(examples)
  })

  test('warns of nothing if values of other forms are many, or if all have one form', () => {
    expect(warningsOf('007', 'x')).toEqual([])
    expect(warningsOf(...nine('#'), 'N/A', 'N/A')).toEqual([])
    expect(warningsOf('1e5', '2e5')).toEqual([])
    expect(warningsOf(...nine('1.#'), '1e5', 'NULL', '-')).toEqual([])
    expect(warningsOf(...nine('1.234,#'))).toEqual([])
    expect(warningsOf('2026-01-01')).toEqual([])
    expect(warningsOf()).toEqual([])
  })
})

test.each([
  ['string', '', true],
  ['int', '12', true],
  ['int', '1.5', false],
  ['decimal', '1.5', true],
  ['decimal', '1,5', false],
  ['datetime', '2024-01-02', true],
  ['datetime', '12', false],
] as const)('whether a value of type %s may be %j: %s', (type, text, expected) => {
  expect(isOfType(text, type)).toBe(expected)
})
