import { expect, test } from 'vitest'
import { Columns } from './columns.ts'

test('columns are in the order that Postgres keeps keys in, shorter ones first, whatever order the file has', () => {
  const { profiles, inDocumentOrder } = new Columns(['user_id', 'é', 'aa', 'b', '"', 'B', 'abc', ''], {}, new Map())
  expect(profiles.map(({ key }) => key)).toEqual(['é', 'aa', 'b', '"', 'B', 'abc', ''])
  // select '{"é":0,"aa":0,"b":0,"\"":0,"B":0,"abc":0,"":0}'::jsonb
  expect(inDocumentOrder.map(({ key }) => key)).toEqual(['', '"', 'B', 'b', 'aa', 'é', 'abc'])
})
