import { expect, test } from 'vitest'
import { countErrors } from './file-rows.ts'

test('errors are counted without the mark against formulas and without the number of those left out', async () => {
  const rows = [
    'SERVICE_ERRORS,user_id',
    '"age should be integer, and 340 more",u1',
    "'=x should be integer,u2",
    '=x should be integer,u3',
    '=x should be integer,u4',
  ]
  const file = `data:text/csv,${encodeURIComponent(rows.join('\n'))}`
  expect(await countErrors(file)).toEqual([
    ['=x should be integer', 3],
    ['age should be integer', 1],
  ])
})
