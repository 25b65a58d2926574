import { Readable } from 'node:stream'
import { readHeader } from '@sluice/csv'
import { describe, expect, test } from 'vitest'
import { checkColumns, type ImportRules } from './column-check.ts'
import type { ValueForm } from './conversion/value-forms.ts'

const rules = (changes: Partial<ImportRules> = {}): ImportRules => ({
  keys: {},
  newKeys: 'register',
  clearMarker: '',
  declared: {},
  ...changes,
})
const problemsOf = (...header: string[]) =>
  checkColumns({ header, rows: [] }, rules()).refusals.map(({ message }) => message)

describe('a file is refused with', () => {
  test.each([
    ['no user_id', ['name'], 'user_id column is required'],
    ['a name twice', ['user_id', 'age', 'age', 'age'], 'duplicate columns age'],
    ['a standard profile', ['user_id', '$name'], 'standard user profile cannot be updated: $name'],
    ['no name', ['user_id', '', ''], 'empty columns'],
    ['a long name', ['user_id', 'x'.repeat(256)], `${'x'.repeat(40)}… should be at most 255 characters`],
  ])('%s', (_, header, message) => {
    expect(problemsOf(...header)).toEqual([message])
  })

  test.each([
    [['user_id', '', 'a', 'a', '$b']],
    [['a', 'a', '$b']],
    [['x', 'x'.repeat(256), '$b']],
    [['user_id', '$b', '$c', 'x']],
    [['user_id', '', '']],
  ])('the message of the import first: %j', async (header) => {
    const [first] = problemsOf(...header)
    await expect(readHeader(Readable.from([Buffer.from(`${header.join(',')}\n`)]))).rejects.toThrow(first)
  })

  test('no problem if all its columns are valid', () => {
    expect(problemsOf('SERVICE_ERRORS', 'name', 'user_id', '😀'.repeat(255))).toEqual([])
  })
})

test('values that do not have the type of their registered key are counted; types of new keys are inferred', () => {
  const rows = [
    ['u1', '12', '1', '2026-01-01', '', 'x'],
    ['u2', 'x', '1.5', '2026-01-01T10:00Z', '', 'y'],
    ['u3', ''],
  ]
  const header = ['user_id', 'age', 'score', 'joined', 'empty', 'SERVICE_ERRORS', 'plan']
  const { columns, refusals } = checkColumns({ header, rows }, rules({ keys: { age: 'int', plan: 'disabled' } }))
  expect(refusals).toEqual([])
  expect(columns.map(({ name, type, isRegistered, misfits }) => [name, type, isRegistered, misfits])).toEqual([
    ['user_id', 'identifies the user', false, 0],
    ['age', 'int', true, 1],
    ['score', 'decimal', false, 0],
    ['joined', 'datetime', false, 0],
    ['empty', 'no value yet', false, 0],
    ['SERVICE_ERRORS', 'not imported: the reasons of an error file', false, 0],
    ['plan', 'not imported: the key is disabled', false, 0],
  ])
  expect(columns.filter(({ isIgnored }) => isIgnored).map(({ name }) => name)).toEqual(['SERVICE_ERRORS', 'plan'])
})

// second-day.md §1, Warnings.
test('values that lose their spelling in an inferred type are warned about; the clear marker is no value', () => {
  const rows = [
    ['u1', '007', 'x'],
    ['u2', '#N/A', '#N/A'],
    ['u3', '8', ''],
  ]
  const header = ['user_id', 'zip', 'name']
  const { columns } = checkColumns({ header, rows }, rules({ clearMarker: '#N/A' }))
  expect(columns[1]).toMatchObject({
    type: 'int',
    isNew: true,
    warnings: [{ message: '1 of 2 values begin with 0, which int does not keep', examples: ['007'] }],
  })
  expect(columns[2]).toMatchObject({ type: 'string', warnings: [] })
  const chosen = checkColumns(
    { header, rows },
    rules({ clearMarker: '#N/A', declared: { zip: 'string', name: 'int' } }),
  )
  expect(chosen.columns[1]).toMatchObject({ type: 'string', isNew: true, warnings: [], misfits: 0 })
  expect(chosen.columns[2]).toMatchObject({ type: 'int', misfits: 1 })
  const registered = checkColumns({ header, rows }, rules({ keys: { zip: 'int' }, clearMarker: '#N/A' }))
  expect(registered.columns[1]).toMatchObject({ isRegistered: true, warnings: [], misfits: 0 })
})

describe('if a form is chosen and the key becomes a string', () => {
  const warningsOf = (form: ValueForm, values: readonly string[], changes: Partial<ImportRules> = {}) => {
    const rows = values.map((value) => ['u1', value])
    const given = { forms: { since: form }, clearMarker: '#N/A', ...changes }
    return checkColumns({ header: ['user_id', 'since'], rows }, rules(given)).columns[1]?.warnings
  }

  test.each<[ValueForm, string[], string, string[]]>([
    ['day-first', ['1999-12-31', 'soon', '', '#N/A'], '1 of 2 values is not of the type datetime', ['soon']],
    ['date-time+02:00', ['2024-03-31T02:30Z', 'x', 'y', 'x'], '3 of 4 values are not of the type datetime', ['x', 'y']],
    // The conversion leaves 2.5 as it is, and an import reads it.
    ['decimal-comma', ['1.5', '2.5', 'n/a', '-'], '2 of 4 values are not of the type decimal', ['n/a', '-']],
    ['decimal-comma', ['1234', 'n/a', 'none'], '2 of 3 values are not of the type int', ['n/a', 'none']],
  ])('%s: the values that are the reason are named, however many they are', (form, values, reason, examples) => {
    const type = reason.split(' ').at(-1)
    const message = `${reason}, so the key becomes a string. If you choose ${type}, such rows are not applied`
    expect(warningsOf(form, values)).toEqual([{ message, examples }])
  })

  test.each<[string, ValueForm, string[], Partial<ImportRules>?]>([
    ['no form is chosen', 'as-is', ['1999-12-31', 'soon']],
    ['all values have the form', 'day-first', ['1999-12-31', '2003-02-01T10:00', '']],
    ['no value has the form', 'day-first', ['soon', 'later']],
    ['there is no value', 'decimal-comma', ['', '']],
    ['a person has chosen the type', 'day-first', ['1999-12-31', 'soon'], { declared: { since: 'string' } }],
    ['the key is registered', 'day-first', ['1999-12-31', 'soon'], { keys: { since: 'string' } }],
  ])('nothing is said if %s', (_, form, values, changes) => {
    expect(warningsOf(form, values, changes)).toEqual([])
  })

  test('the warning of the import is shown if it gives one', () => {
    const values = [...Array.from({ length: 9 }, (_, day) => `1999-12-1${day}`), 'soon']
    const message = '9 of 10 values are ISO 8601 date-times; the others make the key a string'
    expect(warningsOf('day-first', values)).toEqual([{ message, examples: ['soon'] }])
  })
})

test('an app that refuses new keys refuses the file, and names the columns whose type nobody has chosen', () => {
  const { refusals } = checkColumns(
    { header: ['user_id', 'zip', 'b', 'c'], rows: [] },
    rules({ newKeys: 'refuse', keys: { b: 'int' }, declared: { c: 'string' } }),
  )
  expect(refusals.map(({ message }) => message)).toEqual(['profile keys are not registered: zip'])
})
