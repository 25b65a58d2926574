import { describe, expect, test } from 'vitest'
import { parseColumnMapping, parseColumnNames } from './column-mapping.ts'

describe('column names are refused if they', () => {
  test.each([
    ['are no JSON', '['],
    ['are no list', '{"a":1}'],
    ['are none', '[]'],
    ['are not texts', '[1]'],
    ['are a text and a number', '["a",1]'],
    ['cannot be stored', JSON.stringify(['a\0'])],
    ['have more bytes than a header', JSON.stringify(['x'.repeat(102_401)])],
  ])('%s', (_, json) => {
    expect(parseColumnNames(json)).toBeUndefined()
  })
})

test('column names may have as many bytes as a header', () => {
  const names = ['é'.repeat(40_000), 'x'.repeat(102_400 - 80_001)]
  expect(parseColumnNames(JSON.stringify(names))).toEqual(names)
  expect(parseColumnNames(JSON.stringify([...names, '']))).toBeUndefined()
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

  test('may name a type, a key of 255 characters and 500 columns', () => {
    const names = Array.from({ length: 500 }, (_, index) => `c${index}`)
    const mapping = names.map((name) => ({ ...column, name, key: '😀'.repeat(255), type: 'int' }))
    expect(parseColumnMapping(JSON.stringify(mapping), [...names, 'user_id'])).toEqual(mapping)
  })

  test.each(['as-is', 'decimal-comma', 'day-first', 'month-first', 'date-time', 'date-time-09:30', 'day-first+02:00'])(
    'may have values of the form %s',
    (form) => {
      const mapping = [{ ...column, form }]
      expect(parseColumnMapping(JSON.stringify(mapping), ['user_id', 'E-Mail'])).toEqual(mapping)
    },
  )

  test.each([
    ['that leaves no user_id', [{ ...column, name: 'user_id' }]],
    ['that leaves out user_id', [{ ...column, name: 'user_id', key: 'user_id', left_out: true }]],
    ['of another column', [{ ...column, name: 'x' }]],
    ['of a column and another column', [column, { ...column, name: 'x' }]],
    ['without a column', []],
    ['with a key that is too long', [{ ...column, key: 'x'.repeat(256) }]],
    ['with an unknown form', [{ ...column, form: 'hex' }]],
    ['with more than a form', [{ ...column, form: 'as-is, too' }]],
    ['with more before a form', [{ ...column, form: 'not as-is' }]],
    ['with a form that has half an offset', [{ ...column, form: 'date-time+02' }]],
    ['with an unknown type', [{ ...column, type: 'bool' }]],
    ['with a key that cannot be stored', [{ ...column, key: '\ud800' }]],
    ['with a decision that is a text', [{ ...column, left_out: 'false' }]],
    ['with values', [{ ...column, values: ['anna@example.com'] }]],
    ['of too many columns', Array.from({ length: 501 }, () => column)],
  ])('%s is refused', (_, mapping) => {
    expect(parseColumnMapping(JSON.stringify(mapping), ['user_id', 'E-Mail'])).toBeUndefined()
  })
})
