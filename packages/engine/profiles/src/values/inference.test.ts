import type { ValueType } from '@sluice/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeCell } from './cell.ts'
import { ColumnInference } from './inference.ts'

function infer(cells: readonly (string | Buffer)[]): ValueType | undefined {
  const inference = new ColumnInference()
  for (const cell of cells) inference.add(Buffer.from(cell))
  return inference.type()
}

const latin1 = Buffer.from([0x63, 0x61, 0x66, 0xe9])

// service.md, Bulk import CSV file; design.md §3, Inference.
describe('ColumnInference', () => {
  test.each([
    ['datetimes of several forms', ['2024-01-02', '2024-01-02T03:04Z'], 'datetime'],
    ['ints', ['1', '-2', '003'], 'int'],
    ['numbers with a leading +', ['+41791234567', '+1'], 'string'],
    ['a decimal with a leading + among others', ['1.5', '+1.5'], 'string'],
    ['exponents beside a point', ['1e+05', '1234.5', '9E-06', '7'], 'decimal'],
    ['an exponent beside ints', ['1', '1e5'], 'string'],
    ['an exponent that is not finite', ['1.5', '1e400'], 'string'],
    ['numbers with a point', ['1.5', '.5'], 'decimal'],
    ['ints and a number with a point', ['1', '2', '3.0', '4'], 'decimal'],
    ['text', ['a'], 'string'],
    ['a datetime and an int', ['2024-01-02', '2024'], 'string'],
    ['a number with a point and a datetime', ['1.5', '2024-01-02'], 'string'],
    ['numbers and one text', ['1', 'n/a', '2'], 'string'],
    ['an int out of range', ['1', '9007199254740992'], 'string'],
    ['an int out of range and a number with a point', ['1.5', '9007199254740992'], 'string'],
    ['a number that is not finite', ['1.0e999'], 'string'],
    ['an exponent without a point', ['1e3'], 'string'],
    ['an impossible date', ['2024-02-30'], 'string'],
    ['ints with white space', [' 1'], 'string'],
    ['empty cells among ints', ['', '1', ''], 'int'],
    ['a cell that is not UTF-8 among ints', [latin1, '1'], 'int'],
    ['NUL among ints', ['1', '\0'], 'int'],
    ['empty cells only', ['', ''], undefined],
    ['no cell that is UTF-8', [latin1, '\0'], undefined],
    ['nothing', [], undefined],
  ])('%s', (_, cells, type) => {
    expect(infer(cells)).toBe(type)
  })

  const cells = fc.array(
    fc.constantFrom(
      '1',
      '-7',
      '+7',
      '1.5',
      '.5',
      '1e5',
      '2024-01-02',
      '2024-01-02T03:04Z',
      'x',
      '',
      '9007199254740992',
    ),
  )

  test('the order of the values does not matter', () => {
    fc.assert(
      fc.property(cells, (given) => {
        expect(infer(given.toReversed())).toBe(infer(given))
      }),
    )
  })

  test('every value that counted can be stored with the inferred type', () => {
    fc.assert(
      fc.property(cells, (given) => {
        const type = infer(given)
        for (const cell of given) {
          if (cell !== '' && type !== undefined) expect(encodeCell(Buffer.from(cell), type)).toBeTypeOf('string')
        }
      }),
    )
  })
})
