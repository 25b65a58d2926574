import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkRequest } from './check.ts'
import { importRequest, parseProfileTypes, refusedTypes } from './import-request.ts'
import { keyProblem } from './profile-keys.ts'

const valid = { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' }
const requestWith = (members: object) => checkRequest(importRequest, { ...valid, ...members })

// second-day.md §1, File name; second-day.md §2, Clear marker.
describe('optional members of the first request', () => {
  test('are returned as they were given', () => {
    const members = {
      profile_types: { zip: 'string', __proto__x: 'int', ' born ': 'datetime' },
      new_keys: 'refuse',
      keep_changes: false,
      hold_if: { new_keys: 3 },
      clear_marker: '#N/A',
      file_name: 'Kunden 😀.csv',
    }
    expect(requestWith(members)).toMatchObject({ value: members })
  })

  // changes.md §1, Asking for it.
  test('may ask to register new keys and to keep changes', () => {
    const members = { new_keys: 'register', keep_changes: true, hold_if: 'never' }
    expect(requestWith(members)).toMatchObject({ value: members })
  })

  test('may be absent, null or, except for the clear marker, empty', () => {
    for (const absent of [undefined, null, '']) {
      const names = ['new_keys', 'keep_changes', 'hold_if', 'file_name']
      const parsed = requestWith(Object.fromEntries(['profile_types', ...names].map((name) => [name, absent])))
      expect(parsed).toMatchObject({ value: { profile_types: {} } })
      for (const name of names) expect(parsed).not.toHaveProperty(`value.${name}`, expect.anything())
    }
    expect(requestWith({ clear_marker: null })).toHaveProperty('value.clear_marker', undefined)
  })

  test('a key named __proto__ is a key like any other', () => {
    const parsed = parseProfileTypes(JSON.parse('{"__proto__": "int", "constructor": "string"}'))
    expect('value' in parsed && Object.entries(parsed.value)).toEqual([
      ['__proto__', 'int'],
      ['constructor', 'string'],
    ])
  })

  test.each([
    ['profile_types', 'zip', 'profile_types must be an object of keys with their types'],
    ['profile_types', ['zip'], 'profile_types must be an object of keys with their types'],
    ['profile_types', { zip: 'text' }, 'profile_types: zip should be of type string, int, decimal, datetime'],
    ['profile_types', { zip: null }, 'profile_types: zip should be of type string, int, decimal, datetime'],
    ['profile_types', { '': 'int' }, 'profile_types: key must not be empty'],
    ['profile_types', { user_id: 'string' }, 'profile_types: user_id is a reserved name'],
    ['profile_types', { SERVICE_ERRORS: 'string' }, 'profile_types: SERVICE_ERRORS is a reserved name'],
    ['profile_types', { $name: 'string' }, 'profile_types: $name is a reserved name'],
    ['profile_types', { 'a\0': 'string' }, 'profile_types: a\ufffd should not contain U+0000'],
    ['keep_changes', 'true', 'keep_changes must be true or false'],
    ['hold_if', 'often', 'hold_if must be always, never, or an object with at least one of'],
    ['hold_if', { new_keys: -1 }, 'hold_if new_keys must be a whole number of at least 0'],
    ['new_keys', 'Refuse', 'new_keys must be register or refuse'],
    ['new_keys', true, 'new_keys must be register or refuse'],
    ['clear_marker', '', 'clear_marker must not be empty'],
    ['clear_marker', 7, 'clear_marker must be a string'],
    ['clear_marker', 'x'.repeat(33), 'clear_marker should be at most 32 characters'],
    ['clear_marker', 'a,b', 'clear_marker must not contain a comma, a quote or a line break'],
    ['clear_marker', '"', 'clear_marker must not contain a comma, a quote or a line break'],
    ['clear_marker', 'a\rb', 'clear_marker must not contain a comma, a quote or a line break'],
    ['clear_marker', 'a\n', 'clear_marker must not contain a comma, a quote or a line break'],
    ['clear_marker', '\0', 'clear_marker should not contain U+0000'],
    ['clear_marker', '\ud800', 'clear_marker should not contain a lone surrogate'],
    ['file_name', 'x'.repeat(256), 'file_name should be at most 255 characters'],
    ['file_name', { name: 'x' }, 'file_name must be a string'],
    ['file_name', 'a\0', 'file_name should not contain U+0000'],
  ])('%s %j is refused with a message that names it', (name, value, message) => {
    expect(requestWith({ [name]: value })).toEqual({
      messages: [expect.stringContaining(`Validation failed: ${message}`)],
    })
  })

  test('a clear marker may have 32 characters of any kind but these, such as spaces', () => {
    for (const marker of ['😀'.repeat(32), ' ', "'", '-'])
      expect(requestWith({ clear_marker: marker })).toMatchObject({ value: { clear_marker: marker } })
  })

  test('declared types are refused with at most 100 messages', () => {
    const types = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`k${index}`, 'text']))
    const refused = requestWith({ profile_types: types })
    expect('messages' in refused && refused.messages).toHaveLength(100)
    expect(refusedTypes(Array.from({ length: 150 }, () => 'x'))).toHaveLength(100)
  })

  test('declared keys have no more bytes than a header', () => {
    const types = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`.padStart(100, 'k'), 'int']))
    expect(requestWith({ profile_types: types(1024) })).toHaveProperty('value')
    expect(requestWith({ profile_types: types(1025) })).toEqual({
      messages: ['Validation failed: profile_types: the keys have over 102400 bytes, more than a header'],
    })
  })

  test('lead to a checked request, or to messages that name the member, for any JSON', () => {
    const member = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }))
    const types = fc.oneof(member, fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(member, fc.constant('int'))))
    const members = fc.record(
      { profile_types: types, new_keys: member, clear_marker: member, file_name: member },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(members, (given) => {
        const parsed = requestWith(given)
        if ('messages' in parsed) {
          expect(parsed.messages).not.toEqual([])
          for (const message of parsed.messages) {
            expect(message).toMatch(/^Validation failed: (profile_types|new_keys|clear_marker|file_name)\b/)
            expect(message.isWellFormed()).toBe(true)
          }
        } else for (const key of Object.keys(parsed.value.profile_types ?? {})) expect(keyProblem(key)).toBeUndefined()
      }),
    )
  })
})
