import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cellsAtFault } from './cells-at-fault.ts'
import { columnProblem, messageOf, problemTexts, rowProblem } from './problems.ts'

test.each([
  ['age should be integer', [1]],
  ['too many values', []],
  ['too many values, user_id is unregistered user, a, b should be decimal', [0, 2]],
  ["'=age should be integer", [3]],
  ['age should be integer, and 340 more', [1]],
  ['a text of the uploaded file', []],
  ['', []],
])('%j is about the columns %j', (messages, columns) => {
  expect(cellsAtFault(messages, ['user_id', 'age', 'a, b', '=age'])).toEqual(columns)
})

test('whatever problems a row has, exactly their columns are found', () => {
  const names = fc.uniqueArray(
    fc.string({ minLength: 1 }).filter((name) => !/[,']/.test(name)),
    { maxLength: 6 },
  )
  fc.assert(
    fc.property(
      names,
      fc.array(fc.tuple(fc.nat(6), fc.nat(problemTexts.length - 1))),
      fc.boolean(),
      (columns, picks, isLong) => {
        const problems = picks
          .filter(([column]) => column < columns.length)
          .map(([column, code]) => columnProblem(column, problemTexts[code] ?? problemTexts[0]))
        const all = [...new Set([...problems, ...(isLong ? [rowProblem('too many values')] : [])])].toSorted(
          (a, b) => a - b,
        )
        const text = all.map((problem) => messageOf(problem, columns)).join(', ')
        const mark = /^[=+\-@\t\r\n]/.test(text) ? "'" : ''
        const expected = [...new Set(picks.map(([column]) => column).filter((column) => column < columns.length))]
        expect(cellsAtFault(mark + text, columns)).toEqual(expected.toSorted((a, b) => a - b))
      },
    ),
  )
})
