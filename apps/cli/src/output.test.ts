import { expect, test } from 'vitest'
import { fields, table } from './output.ts'

// A name or a value out of a file must not command the terminal, nor look like a line of its own.
const hostile = 'a\x1b[2J\nState  completed\x9b'

test('a value among fields has no control characters', () => {
  expect(fields({ State: 'failed', Error: hostile })).toBe(
    'State  failed\nError  a\ufffd[2J\ufffdState  completed\ufffd',
  )
})

test('nor has the name of a field', () => {
  expect(fields({ [hostile]: 'int' })).toBe('a\ufffd[2J\ufffdState  completed\ufffd  int')
})

test('nor has a cell of a table', () => {
  expect(table([{ key: hostile, type: 'int' }], '')).toMatch(
    /^key +type\na\ufffd\[2J\ufffdState {2}completed\ufffd {2}int$/,
  )
})
