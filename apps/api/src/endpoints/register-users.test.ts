import { describe, expect, test } from 'vitest'
import { checkBody } from '../endpoint.ts'
import { registerUsers } from './register-users.ts'

// test/src/api/users.test.ts has the other refusals.
describe('a registration of users', () => {
  test.each([
    ['no body', undefined, ['The request body must be a JSON object.']],
    [
      'every invalid ID',
      { user_ids: ['a', '', 7, null, 'x'.repeat(256), 'a\0'] },
      [
        'user_ids[1] must not be empty',
        'user_ids[2] must be a string',
        'user_ids[3] must be a string',
        'user_ids[4] should be at most 255 characters',
        'user_ids[5] should not contain U+0000',
      ],
    ],
  ])('names %s', (_, body, messages) => {
    expect(checkBody(registerUsers, body)).toEqual({ messages })
  })

  test('names at most 100 invalid IDs', () => {
    const parsed = checkBody(registerUsers, { user_ids: Array.from({ length: 5000 }, () => '') })
    expect('messages' in parsed && parsed.messages).toHaveLength(100)
  })
})
