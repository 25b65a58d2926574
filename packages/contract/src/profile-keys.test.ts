import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkRequest } from './check.ts'
import { keyChange, keyProblem, keyRegistration, typeConflicts } from './profile-keys.ts'
import { valueTypes } from './value-type.ts'

const zip = { key: 'zip', type: 'string' }

// second-day.md §1, Profile keys.
describe('a registration of keys', () => {
  test('has 1 to 500 keys with their types, and a key may be repeated with its type', () => {
    const given = [zip, { key: ' born ', type: 'datetime' }, zip]
    const keys = new Map([
      ['zip', 'string'],
      [' born ', 'datetime'],
    ])
    expect(checkRequest(keyRegistration, { profile_keys: given })).toEqual({ value: { profile_keys: keys } })
    const most = Array.from({ length: 500 }, (_, index) => ({ key: `k${index}`, type: 'int' }))
    expect(checkRequest(keyRegistration, { profile_keys: most })).toMatchObject({
      value: { profile_keys: { size: 500 } },
    })
  })

  test.each([
    ['no object', [], 'The request body must be a JSON object.'],
    ['no list', {}, 'profile_keys must be an array of keys with their types'],
    ['an empty list', { profile_keys: [] }, 'profile_keys must not be empty'],
    ['501 keys', { profile_keys: Array.from({ length: 501 }, () => zip) }, 'profile_keys must hold at most 500 keys'],
    ['an entry that is no object', { profile_keys: [zip, 'zip'] }, 'profile_keys[1] must be an object'],
    ['a key that is no string', { profile_keys: [{ type: 'int' }] }, 'profile_keys[0]: key must be a string'],
    ['an empty key', { profile_keys: [zip, { ...zip, key: '' }] }, 'profile_keys[1]: key must not be empty'],
    [
      'a long key',
      { profile_keys: [{ ...zip, key: 'x'.repeat(256) }] },
      `${'x'.repeat(255)}… should be at most 255 characters`,
    ],
    ['a standard profile', { profile_keys: [{ ...zip, key: '$name' }] }, '$name is a reserved name'],
    ['the column of the user ID', { profile_keys: [{ ...zip, key: 'user_id' }] }, 'user_id is a reserved name'],
    [
      'the column of the messages',
      { profile_keys: [{ ...zip, key: 'SERVICE_ERRORS' }] },
      'SERVICE_ERRORS is a reserved name',
    ],
    ['no type', { profile_keys: [{ key: 'zip' }] }, 'zip should be of type string, int, decimal, datetime'],
    ['two types', { profile_keys: [zip, { ...zip, type: 'int' }] }, 'profile_keys[1]: zip has two types'],
  ])('is refused with %s', (_, body, message) => {
    expect(checkRequest(keyRegistration, body)).toEqual({ messages: [message] })
  })

  test('is refused with at most 100 messages', () => {
    const given = Array.from({ length: 500 }, () => 7)
    const parsed = checkRequest(keyRegistration, { profile_keys: given })
    expect('messages' in parsed && parsed.messages).toHaveLength(100)
  })

  test('returns valid keys, or messages that can be shown, for any JSON', () => {
    const entry = fc.oneof(
      fc.record({ key: fc.string({ unit: 'binary' }), type: fc.constantFrom(...valueTypes) }),
      fc.record({ key: fc.jsonValue(), type: fc.jsonValue() }, { requiredKeys: [] }),
      fc.jsonValue(),
    )
    const body = fc.oneof(fc.record({ profile_keys: fc.oneof(fc.array(entry), fc.jsonValue()) }), fc.jsonValue())
    fc.assert(
      fc.property(body, (given) => {
        const parsed = checkRequest(keyRegistration, given)
        if ('value' in parsed) {
          expect(parsed.value.profile_keys.size).toBeGreaterThan(0)
          for (const [key, type] of parsed.value.profile_keys) {
            expect(keyProblem(key)).toBeUndefined()
            expect(valueTypes).toContain(type)
          }
        } else {
          expect(parsed.messages.length).toBeGreaterThan(0)
          for (const message of parsed.messages) expect(message.isWellFormed() && !message.includes('\0')).toBe(true)
        }
      }),
    )
  })
})

test('each key of another type has a message', () => {
  expect(
    typeConflicts(
      new Map([
        ['zip', 'int'],
        ['born', 'string'],
      ] as const),
    ),
  ).toEqual(['zip is registered as int', 'born is registered as string'])
})

// changes.md §4.
describe('a change of a key', () => {
  test.each([
    [{ enabled: true }, { enabled: true }],
    [{ description: '😀'.repeat(255) }, { description: '😀'.repeat(255) }],
    [{ description: null }, { description: null }],
    [
      { enabled: false, description: '' },
      { enabled: false, description: null },
    ],
  ])('may be %j', (given, value) => {
    expect(checkRequest(keyChange, given)).toEqual({ value })
  })

  const onlyMembers = 'The request body must have enabled, description or both, and no other member.'
  test.each([
    [{}, onlyMembers],
    [{ enabled: true, type: 'int' }, onlyMembers],
    [{ enabled: 'true' }, 'enabled must be a boolean'],
    [{ description: 7 }, 'description must be a string or null'],
    [{ description: 'x'.repeat(256) }, 'description should be at most 255 characters'],
    [{ description: 'a\0' }, 'description should not contain U+0000'],
  ])('must not be %j', (given, message) => {
    expect(checkRequest(keyChange, given)).toEqual({ messages: [message] })
  })
})
