import { expect, test } from 'vitest'
import { textOf } from './progress.ts'
import { fields, sorted, table } from './text.ts'

// A name or a value from a file must not control the terminal or imitate another line of the output.
const hostile = 'a\x1b[2J\nState  completed\x9b'

test('the value of a field is printed without control characters', () => {
  expect(fields({ State: 'failed', Error: hostile })).toBe('State  failed\nError  a\ufffd[2J↵State  completed\ufffd')
})

test('a line break of a value is shown as one sign, and does not look like a damaged character', () => {
  expect(fields({ note: 'two\nlines\r\nor three' })).toBe('note  two↵lines↵or three')
})

test('the name of a field is printed without control characters', () => {
  expect(fields({ [hostile]: 'int' })).toBe('a\ufffd[2J\ufffdState  completed\ufffd  int')
})

test('the cell of a table is printed without control characters', () => {
  expect(table([{ key: hostile, type: 'int' }], '')).toMatch(/^key +type\na\ufffd\[2J↵State {2}completed\ufffd {2}int$/)
})

const id = '0199f6f0-0000-7000-8000-000000000000'
const requested = new Date('2026-11-27T14:05:59.123Z')
const rows = [{ IMPORT: id, FILE: 'customers-of-all-shops.csv', ROWS: 1_250_000, REQUESTED: requested, ERROR: null }]
const time = requested.toLocaleString('sv-SE').slice(0, 16)

test('a table shows everything if nothing limits its width: numbers with separators, the times of this machine', () => {
  expect(table(rows, '').split('\n')).toEqual([
    `${'IMPORT'.padEnd(36)}  ${'FILE'.padEnd(26)}       ROWS  ${'REQUESTED'.padEnd(16)}  ERROR`,
    `${id}  customers-of-all-shops.csv  1,250,000  ${time}  -`,
  ])
})

test('in a limited width, a table cuts texts, but never the first column, a number or a time', () => {
  expect(table(rows, '', 90).split('\n')[1]).toBe(`${id}  customers-of-al…  1,250,000  ${time}  -`)
})

test('in a smaller width, a table names the columns that it leaves out', () => {
  expect(table(rows, '', 70).split('\n').slice(1)).toEqual([
    `${id}  customers-of-all-sho…  1,250,000`,
    '',
    '--wide also shows REQUESTED, ERROR',
  ])
})

test('the names of many columns that are left out take several lines', () => {
  const others = { APPLIED: 1, CHANGED: 1, SOURCE: 'v3', STARTED: requested, FINISHED: requested }
  const text = table([{ IMPORT: id, STATE: 'failed', ROWS: 1, ...others }], '', 55)
  expect(text.split('\n').slice(-2)).toEqual(['--wide also shows APPLIED, CHANGED, SOURCE, STARTED,', 'FINISHED'])
})

test('in a list of failures, other columns give way to the error in the second one', () => {
  const error = 'the header has no column user_id, which names the users'
  const failures = [{ IMPORT: id, ERROR: error, FILE: 'customers-of-all-shops.csv', ROWS: 1 }]
  const lines = (width: number) => table(failures, '', width).split('\n').slice(1)
  expect(lines(120)).toEqual([`${id}  ${error}  customers-of-all-s…     1`])
  expect(lines(80)).toEqual([`${id}  the header has no column user…  customers…`, '', '--wide also shows ROWS'])
})

test('if few columns have room, each row is shown as fields', () => {
  expect(table(rows, '', 40)).toBe(fields(rows[0] ?? {}))
})

test('keys are sorted by name', () => {
  expect(sorted({ zip: 1, age: 2, Zip: 3 })).toEqual([
    ['Zip', 3],
    ['age', 2],
    ['zip', 1],
  ])
})

test('a progress line is never wider than the terminal; the bar has the room that is left', () => {
  const progress = { label: 'Importing', share: 0.42, facts: ['1,250,000 rows', '45,000 rows/s', '12 with errors'] }
  expect(textOf(progress, 100)).toBe(
    `Importing ${'█'.repeat(13)}${'░'.repeat(17)} 42 %  1,250,000 rows  45,000 rows/s  12 with errors`,
  )
  expect(textOf(progress, 79)).toMatch(/^Importing █+░+ 42 % {2}1,250,000 rows {2}45,000 rows\/s {2}12 with errors$/)
  expect(textOf(progress, 79)).toHaveLength(79)
  expect(textOf(progress, 39)).toBe('Importing 42 %  1,250,000 rows  45,000…')
})
