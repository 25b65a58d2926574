import { expect, test } from 'vitest'
import { fields, table } from './output.ts'

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
