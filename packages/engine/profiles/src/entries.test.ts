import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkEntries } from './entries.ts'

// service.md, What the service does; service.md, Profile entry; design.md §3, Standard profiles.
describe('entries of a profile update', () => {
  // design.md §3, Profile update.
  test('are returned in the same order, repeated keys too, with datetimes in UTC and without other members', () => {
    const entries = [
      { key: 'at', type: 'datetime', value: '2026-01-01T09:00:00+09:00', more: 1 },
      { key: ' at ', type: 'int', value: 1 },
      { key: ' at ', type: 'string', value: '' },
      { key: '__proto__', type: 'decimal', value: 1.5 },
    ]
    expect(checkEntries(entries)).toEqual({
      entries: [
        { key: 'at', type: 'datetime', value: '2026-01-01 00:00:00.000' },
        { key: ' at ', type: 'int', value: 1 },
        { key: ' at ', type: 'string', value: '' },
        { key: '__proto__', type: 'decimal', value: 1.5 },
      ],
    })
  })

  test.each([
    ['a key is missing', { key: undefined }, 'user_profiles[1]: key must be a string'],
    ['a key is null', { key: null }, 'user_profiles[1]: key must be a string'],
    ['a key is empty', { key: '' }, 'user_profiles[1]: key must not be empty'],
    ['a key is too long', { key: 'x'.repeat(300) }, `${'x'.repeat(255)}… should be at most 255 characters`],
    ['a key holds NUL', { key: 'a\0\ud800' }, 'a\ufffd\ufffd should not contain U+0000'],
    ['a key holds half a character', { key: 'a\ud800' }, 'a\ufffd should not contain a lone surrogate'],
    ['a key is a standard profile', { key: '$name' }, 'standard user profile cannot be updated: $name'],
    ['a key is reserved', { key: 'user_id' }, 'user_id is a reserved name'],
    ['a key is another reserved name', { key: 'SERVICE_ERRORS' }, 'SERVICE_ERRORS is a reserved name'],
    ['a type is missing', { type: undefined }, 'age should be of type string, int, decimal, datetime'],
    ['a type is unknown', { type: 'Int' }, 'age should be of type string, int, decimal, datetime'],
    ['a value is missing', { value: undefined }, 'age should be integer'],
    ['a value is of another type', { value: 'old' }, 'age should be integer'],
  ])('are refused if %s', (_, change, message) => {
    const good = { key: 'age', type: 'int', value: 34 }
    expect(checkEntries([good, { ...good, ...change }, good])).toEqual({ messages: [message] })
  })

  test('that are invalid are all named, 100 at most', () => {
    const wrong = (index: number) => ({ key: `k${index}`, type: 'int', value: 'x' })
    expect(checkEntries([wrong(0), { key: 'a', type: 'int', value: 1 }, wrong(2)])).toEqual({
      messages: ['k0 should be integer', 'k2 should be integer'],
    })
    const checked = checkEntries(Array.from({ length: 5000 }, (_, index) => wrong(index)))
    expect('messages' in checked && checked.messages).toHaveLength(100)
  })

  test('lead to messages that can be stored as text, whatever the key is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (key) => {
        const checked = checkEntries([{ key, type: 'none', value: 0 }])
        const [message = ''] = 'messages' in checked ? checked.messages : []
        expect(message).not.toBe('')
        expect(message.isWellFormed() && !message.includes('\0')).toBe(true)
        expect(message.length).toBeLessThan(600)
      }),
    )
  })
})
