import { describe, expect, test } from 'vitest'
import { checkBody } from '../endpoint.ts'
import { updateProfile } from './update-profile.ts'

const entry = { key: 'age', type: 'int', value: 34 }
const valid = { user_id: 'u1', user_profiles: [entry] }

describe('the form of a profile update', () => {
  test('is a user and entries, whose contents are not checked here; other members are ignored', () => {
    const entries = [entry, {}, { key: 7 }]
    const value = { user_id: ' u1 ', user_profiles: entries }
    expect(checkBody(updateProfile, { user_id: ' u1 ', user_profiles: entries, more: 1 })).toEqual({ value })
  })

  test.each([
    ['a body that is not an object', [valid], ['The request body must be a JSON object.']],
    ['null', null, ['The request body must be a JSON object.']],
    ['no body', undefined, ['The request body must be a JSON object.']],
    ['no user_id', { ...valid, user_id: undefined }, ['param is missing or the value is empty: user_id']],
    ['user_id as null', { ...valid, user_id: null }, ['param is missing or the value is empty: user_id']],
    ['an empty user_id', { ...valid, user_id: '' }, ['param is missing or the value is empty: user_id']],
    ['user_id as a number', { ...valid, user_id: 7 }, ['user_id must be a string']],
    ['no user_profiles', { user_id: 'u1' }, ['param is missing or the value is empty: user_profiles']],
    ['no entry', { ...valid, user_profiles: [] }, ['param is missing or the value is empty: user_profiles']],
    ['an entry instead of an array', { ...valid, user_profiles: entry }, ['user_profiles must be an array']],
    [
      'an entry that is not an object',
      { ...valid, user_profiles: [entry, 7, []] },
      ['user_profiles[1] must be an object', 'user_profiles[2] must be an object'],
    ],
    [
      'everything at once',
      { user_profiles: ['x'] },
      ['param is missing or the value is empty: user_id', 'user_profiles[0] must be an object'],
    ],
  ])('is invalid with %s', (_, body, messages) => {
    expect(checkBody(updateProfile, body)).toEqual({ messages })
  })

  test('has at most 100 messages about its problems', () => {
    const parsed = checkBody(updateProfile, { user_profiles: Array.from({ length: 5000 }, () => 0) })
    expect('messages' in parsed && parsed.messages).toHaveLength(100)
  })
})
