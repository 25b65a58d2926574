import { errors } from '../../errors.ts'
import { fileMessages, valueMessages } from '../../import-messages.ts'
import { limits } from '../../limits.ts'
import { textProblem } from '../../name.ts'
import { parseProfileUpdate } from '../../profile-update.ts'
import type { ProfileUpdateAnswer } from '../../wire-types.ts'
import type { PathItem } from '../document-types.ts'
import { type ErrorCase, json, jsonBodyErrors, success, tokenResponses } from '../responses.ts'

const request = {
  user_id: 'alice',
  user_profiles: [
    { key: 'name', type: 'string', value: 'Alice' },
    { key: 'age', type: 'int', value: 34 },
    { key: 'score', type: 'decimal', value: 12.5 },
    { key: 'last_visit', type: 'datetime', value: '2026-03-01T18:30:00+09:00' },
  ],
}

const applied: ProfileUpdateAnswer = {
  user_id: 'alice',
  user_profiles: [
    { key: 'name', type: 'string', value: 'Alice' },
    { key: 'age', type: 'int', value: 34 },
    { key: 'score', type: 'decimal', value: 12.5 },
    { key: 'last_visit', type: 'datetime', value: '2026-03-01 09:30:00.000' },
  ],
}

/** Returns the case of a request of the wrong form, with the messages of the real check. */
function malformed(name: string, when: string, body: unknown): ErrorCase {
  const parsed = parseProfileUpdate(body)
  return { name, when, answer: errors.malformedProfileUpdate(...('messages' in parsed ? parsed.messages : [])) }
}

const invalid = (name: string, when: string, message: string): ErrorCase => {
  return { name, when, answer: errors.invalidProfile(message) }
}

const cases: ErrorCase[] = [
  { name: 'not_json', when: '1001: the body is not JSON.', answer: errors.profileUpdateNotJson() },
  malformed('no_user_id', '1001: there is no user ID.', { user_profiles: request.user_profiles }),
  malformed('no_profiles', '1001: there is no entry.', { user_id: 'alice', user_profiles: [] }),
  malformed('no_object', '1001: the body is not a JSON object.', []),
  { name: 'unregistered', when: '1002: the user is not registered.', answer: errors.unregisteredUser() },
  invalid('key', '1003: a key is not valid.', 'user_profiles[0]: key must not be empty'),
  invalid('standard', '1003: a key is that of a standard profile.', fileMessages.standardProfiles('$name')),
  invalid('type', '1003: a type is not known.', 'age should be of type string, int, decimal, datetime'),
  invalid('value', '1003: a value is not of its type.', `age ${valueMessages.notInteger}`),
  invalid('text', '1003: a text cannot be stored.', `name ${textProblem('\0')}`),
  invalid('registered_type', '1003: a key is registered with another type.', 'age is registered as int'),
]

/** `/v2/user_profiles`. */
export const profileUpdatePath: PathItem = {
  post: {
    operationId: 'updateProfile',
    tags: ['Profiles'],
    summary: "Update a user's profile",
    description: [
      'Sets values of one user. Keys that are new to the app are registered with their type, which cannot be changed later.',
      'The values are stored before the answer is sent. If any entry is invalid, none is applied.',
      '',
      'Values: `string` has up to 255 characters, without U+0000; `int` is a whole number within ±(2^53−1); `decimal` is a number;',
      '`datetime` is a string in ISO 8601 with an offset, and is stored in UTC. Numbers are JSON numbers, not strings. The answer',
      'has every entry in the order of the request.',
    ].join('\n'),
    security: [{ token: [] }],
    requestBody: {
      required: true,
      description: 'The user and the values.',
      content: json('ProfileUpdateRequest', request),
    },
    responses: tokenResponses({ 202: success('Applied.', json('ProfileUpdateAnswer', applied)) }, [
      ...cases,
      ...jsonBodyErrors(limits.jsonBytes, errors.profileUpdateNotJson),
    ]),
  },
}
