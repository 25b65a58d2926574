import { describe, expect, test } from 'vitest'
import { parseColumnMapping, parseColumnNames } from './column-mapping.ts'

describe('column names are refused if they', () => {
  test.each([
    ['are no JSON', '['],
    ['are no list', '{"a":1}'],
    ['are none', '[]'],
    ['are not texts', '[1]'],
    ['cannot be stored', JSON.stringify(['a\0'])],
    ['have more bytes than a header', JSON.stringify(['x'.repeat(102_401)])],
  ])('%s', (_, json) => {
    expect(parseColumnNames(json)).toBeUndefined()
  })
})

describe('a mapping', () => {
  const column = { name: 'E-Mail', key: 'email', left_out: false, form: 'as-is' }

  test('of columns of the file is accepted', () => {
    const mapping = [column, { name: 'Born', key: 'Born', left_out: false, form: 'day-first' }]
    expect(parseColumnNames('["E-Mail","Born"]')).toEqual(['E-Mail', 'Born'])
    expect(parseColumnMapping(JSON.stringify(mapping), ['user_id', 'E-Mail', 'Born'])).toEqual(mapping)
    const renamed = [{ ...column, key: 'user_id' }]
    expect(parseColumnMapping(JSON.stringify(renamed), ['E-Mail'])).toEqual(renamed)
  })

  test.each([
    ['that leaves no user_id', [{ ...column, name: 'user_id' }]],
    ['that leaves out user_id', [{ ...column, name: 'user_id', key: 'user_id', left_out: true }]],
    ['of another column', [{ ...column, name: 'x' }]],
    ['without a column', []],
    ['with a key that is too long', [{ ...column, key: 'x'.repeat(256) }]],
    ['with an unknown form', [{ ...column, form: 'hex' }]],
    ['with values', [{ ...column, values: ['anna@example.com'] }]],
    ['of too many columns', Array.from({ length: 501 }, () => column)],
  ])('%s is refused', (_, mapping) => {
    expect(parseColumnMapping(JSON.stringify(mapping), ['user_id', 'E-Mail'])).toBeUndefined()
  })
})
