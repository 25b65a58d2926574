import { describe, expect, test } from 'vitest'
import { checkBody } from '../endpoint.ts'
import { registerUsers } from './register-users.ts'

describe('a registration of users', () => {
  test('keeps the IDs unchanged, including duplicates', () => {
    const userIds = [' a ', 'b', 'b', '名前']
    expect(checkBody(registerUsers, { user_ids: userIds })).toEqual({ value: { user_ids: userIds } })
  })

  test('may have 10,000 IDs, and no more', () => {
    const userIds = Array.from({ length: 10_000 }, (_, index) => `user-${index}`)
    expect(checkBody(registerUsers, { user_ids: userIds })).toEqual({ value: { user_ids: userIds } })
    expect(checkBody(registerUsers, { user_ids: [...userIds, 'one more'] })).toEqual({
      messages: ['user_ids must hold at most 10000 user IDs'],
    })
  })

  test.each([
    ['a body that is not an object', ['a'], ['The request body must be a JSON object.']],
    ['no body', undefined, ['The request body must be a JSON object.']],
    ['no user_ids', {}, ['user_ids must be an array of user IDs']],
    ['one ID instead of an array', { user_ids: 'a' }, ['user_ids must be an array of user IDs']],
    ['an empty array', { user_ids: [] }, ['user_ids must not be empty']],
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
