import {
  errors,
  fileMessages,
  isJsonObject,
  type JsonObject,
  limits,
  member,
  profileUpdateAnswer,
  sentEntry,
  textProblem,
  valueMessages,
} from '@sluice/contract'
import {
  checkEntries,
  DisabledKeys,
  joinedProfileUpdates,
  KeyLimitExceeded,
  TypeConflict,
  UnregisteredUser,
} from '@sluice/profiles'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal, wrong } from '../endpoint.ts'
import { schemaRef } from '../openapi/schemas.ts'

const entries = [
  { key: 'name', type: 'string' as const, value: 'Alice' },
  { key: 'age', type: 'int' as const, value: 34 },
  { key: 'score', type: 'decimal' as const, value: 12.5 },
]
const lastVisit = { key: 'last_visit', type: 'datetime' as const }
const sent = [...entries, { ...lastVisit, value: '2026-03-01T18:30:00+09:00' }]

/** Returns the messages about a member that is absent or not of its kind. */
const refused = (name: string, given: unknown, kind: string) => {
  const isEmpty = given === undefined || given === null || given === '' || Array.isArray(given)
  return { messages: [isEmpty ? `param is missing or the value is empty: ${name}` : `${name} must be ${kind}`] }
}

/**
 * The form of the body (service.md, Profile update request; service.md, Errors: code 1001). `checkEntries` checks each
 * entry, with code 1003.
 */
const schema = z
  .object({
    user_id: member<string>(
      (given) => (typeof given === 'string' && given !== '' ? { value: given } : refused('user_id', given, 'a string')),
      { type: 'string', minLength: 1, maxLength: limits.userIdLength, description: 'A registered user.' },
    ),
    user_profiles: member<unknown[]>(
      (given) =>
        Array.isArray(given) && given.length > 0 ? { value: given } : refused('user_profiles', given, 'an array'),
      {},
    )
      .pipe(z.array(z.custom<JsonObject>(isJsonObject, 'must be an object')))
      .meta({
        type: 'array',
        description: 'If a key occurs more than once, the last entry applies. Each entry must be valid.',
        minItems: 1,
        items: schemaRef(sentEntry),
      }),
  })
  .meta({ id: 'ProfileUpdateRequest', required: ['user_id', 'user_profiles'] })

/** Updates the profile of one user (service.md, Endpoints 2). The update is committed before the answer. */
export const updateProfile = endpoint({
  id: 'updateProfile',
  // service.md, Versioning.
  route: 'POST /v2/user_profiles',
  tag: 'Profiles',
  summary: "Update a user's profile",
  description: [
    'Sets values of one user. Keys that are new to the app are registered with their type, which cannot be changed later.',
    'The values are stored before the answer is sent. If any entry is invalid, none is applied.',
    '',
    'Values: `string` has up to 255 characters, without U+0000; `int` is a whole number within ±(2^53−1); `decimal` is a number;',
    '`datetime` is a string in ISO 8601 with an offset, and is stored in UTC. Numbers are JSON numbers, not strings. The answer',
    'has every entry in the order of the request.',
  ].join('\n'),
  // service.md, Limits.
  limit: { function: 'profile_update', rate: '1000/60s', counts: 'Profile updates' },
  audit: { unrecordedBecause: 'the log must not hold user IDs and values' },
  body: {
    description: 'The user and the values.',
    schema,
    example: { user_id: 'alice', user_profiles: sent },
    refuse: errors.malformedProfileUpdate,
    keepsNumbers: true,
  },
  answer: {
    status: 202,
    description: 'Applied.',
    schema: profileUpdateAnswer,
    example: {
      user_id: 'alice',
      user_profiles: [...entries, { ...lastVisit, value: '2026-03-01 09:30:00.000' }],
    },
  },
  refusals: [
    wrong('no_user_id', '1001: there is no user ID.', { user_profiles: sent }),
    wrong('no_profiles', '1001: there is no entry.', { user_id: 'alice', user_profiles: [] }),
    refusal('unregistered', '1002: the user is not registered.', errors.unregisteredUser()),
    ...[
      ['key', 'a key is not valid.', 'user_profiles[0]: key must not be empty'],
      ['standard', 'a key is that of a standard profile.', fileMessages.standardProfiles('$name')],
      ['type', 'a type is not known.', 'age should be of type string, int, decimal, datetime'],
      ['value', 'a value is not of its type.', `age ${valueMessages.notInteger}`],
      ['text', 'a text cannot be stored.', `name ${textProblem('\0')}`],
      ['registered_type', 'a key is registered with another type.', 'age is registered as int'],
      ['disabled', 'a key is disabled.', 'plan is disabled'],
    ].map(([name = '', when, message = '']) => refusal(name, `1003: ${when}`, errors.invalidProfile(message))),
  ],
  serve({ db, settings }) {
    const update = joinedProfileUpdates(db, settings.PROFILE_KEY_LIMIT)
    return async ({ appId, body: { user_id: userId, user_profiles: given }, reply }) => {
      const checked = checkEntries(given)
      if ('messages' in checked) return answer(reply, errors.invalidProfile(...checked.messages))
      try {
        await update(appId, userId, checked.entries)
      } catch (error) {
        if (error instanceof UnregisteredUser) return answer(reply, errors.unregisteredUser())
        if (error instanceof TypeConflict || error instanceof DisabledKeys)
          return answer(reply, errors.invalidProfile(...error.messages))
        if (error instanceof KeyLimitExceeded) return answer(reply, errors.invalidProfile(error.message))
        throw error
      }
      return { user_id: userId, user_profiles: checked.entries }
    }
  },
})
