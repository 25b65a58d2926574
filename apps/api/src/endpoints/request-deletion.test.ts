import { describe, expect, test } from 'vitest'
import { checkBody } from '../endpoint.ts'
import { requestDeletion } from './request-deletion.ts'

const type = { identity_type: 'user_id' }

describe('a deletion request', () => {
  test.each([
    ['one user ID', 'alice', ['alice']],
    ['an array', [' a ', 'b', 'b', '名前'], [' a ', 'b', 'b', '名前']],
    ['255 characters, however long in bytes', '😀'.repeat(255), ['😀'.repeat(255)]],
  ])('accepts %s unchanged', (_, value, userIds) => {
    expect(checkBody(requestDeletion, { ...type, identity_value: value })).toEqual({
      value: { identity_type: 'user_id', identity_value: userIds },
    })
  })

  test('may have 10,000 IDs, and no more', () => {
    const userIds = Array.from({ length: 10_000 }, (_, index) => `user-${index}`)
    expect(checkBody(requestDeletion, { ...type, identity_value: userIds })).toEqual({
      value: { identity_type: 'user_id', identity_value: userIds },
    })
    expect(checkBody(requestDeletion, { ...type, identity_value: [...userIds, 'one more'] })).toEqual({
      messages: ['identity_value must hold at most 10000 user IDs'],
    })
  })

  const noValue = 'identity_value must be a user ID or an array of user IDs'
  test.each([
    ['a body that is not an object', ['a'], ['The request body must be a JSON object.']],
    ['no body', undefined, ['The request body must be a JSON object.']],
    ['everything that is missing', {}, ['identity_type must be user_id', noValue]],
    ['another type', { identity_type: 'email', identity_value: 'a' }, ['identity_type must be user_id']],
    [
      'a type that is not a string',
      { identity_type: ['user_id'], identity_value: 'a' },
      ['identity_type must be user_id'],
    ],
    ['no value', type, [noValue]],
    ['null', { ...type, identity_value: null }, [noValue]],
    ['a number', { ...type, identity_value: 7 }, [noValue]],
    ['an object', { ...type, identity_value: { 0: 'a' } }, [noValue]],
    ['an empty ID', { ...type, identity_value: '' }, ['identity_value must not be empty']],
    ['an empty array', { ...type, identity_value: [] }, ['identity_value must not be empty']],
    ['a long ID', { ...type, identity_value: 'x'.repeat(256) }, ['identity_value should be at most 255 characters']],
    [
      'every invalid ID',
      { ...type, identity_value: ['a', '', 7, null, ['b'], 'x'.repeat(256), 'a\0', '\ud800'] },
      [
        'identity_value[1] must not be empty',
        'identity_value[2] must be a string',
        'identity_value[3] must be a string',
        'identity_value[4] must be a string',
        'identity_value[5] should be at most 255 characters',
        'identity_value[6] should not contain U+0000',
        'identity_value[7] should not contain a lone surrogate',
      ],
    ],
  ])('names %s', (_, body, messages) => {
    expect(checkBody(requestDeletion, body)).toEqual({ messages })
  })

  test('names at most 100 invalid IDs', () => {
    const parsed = checkBody(requestDeletion, { ...type, identity_value: Array.from({ length: 5000 }, () => '') })
    expect('messages' in parsed && parsed.messages).toHaveLength(100)
  })
})
