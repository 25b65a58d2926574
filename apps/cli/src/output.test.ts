import { expect, test } from 'vitest'
import { count, fields, localTime, table } from './output.ts'

// A name or a value from a file must not control the terminal or imitate another line of the output.
const hostile = 'a\x1b[2J\nState  completed\x9b'

test('the value of a field is printed without control characters', () => {
  expect(fields({ State: 'failed', Error: hostile })).toBe(
    'State  failed\nError  a\ufffd[2J\ufffdState  completed\ufffd',
  )
})

test('the name of a field is printed without control characters', () => {
  expect(fields({ [hostile]: 'int' })).toBe('a\ufffd[2J\ufffdState  completed\ufffd  int')
})

test('the cell of a table is printed without control characters', () => {
  expect(table([{ key: hostile, type: 'int' }], '')).toMatch(
    /^key +type\na\ufffd\[2J\ufffdState {2}completed\ufffd {2}int$/,
  )
})

test('on a narrow terminal a table shortens its longest cells, but not the first column', () => {
  const rows = [
    { IMPORT: '0199f6f0-0000-7000-8000-000000000000', FILE: 'customers-of-all-shops.csv', ROWS: '1,250,000' },
  ]
  expect(table(rows, '', 70).split('\n')[1]).toBe(
    '0199f6f0-0000-7000-8000-000000000000  customers-of-all-sho\u2026  1,250,000',
  )
  expect(table(rows, '', 10).split('\n')[1]).toBe('0199f6f0-0000-7000-8000-000000000000  custome\u2026  1,250,0\u2026')
})

test('numbers have separators, and times are those of this machine', () => {
  expect([count(1_250_000), count(0), count(null)]).toEqual(['1,250,000', '0', null])
  expect(localTime('2026-11-27T14:05:59.123Z')).toBe(
    `${new Date('2026-11-27T14:05:59.123Z').toLocaleString('sv-SE').slice(0, 16)}`,
  )
  expect(localTime(null)).toBeNull()
})
