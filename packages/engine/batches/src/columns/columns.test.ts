import { expect, test } from 'vitest'
import { Columns } from './columns.ts'

test('columns are sorted as Postgres sorts the keys of a document, whatever their order in the file', () => {
  const { profiles, inDocumentOrder } = new Columns(['user_id', 'é', 'aa', 'b', '"', 'B', 'abc', ''])
  expect(profiles.map(({ key }) => key)).toEqual(['é', 'aa', 'b', '"', 'B', 'abc', ''])
  // select 'é=>0, aa=>0, b=>0, "\""=>0, B=>0, abc=>0, ""=>0'::hstore
  expect(inDocumentOrder.map(({ key }) => key)).toEqual(['', '"', 'B', 'b', 'aa', 'é', 'abc'])
})
