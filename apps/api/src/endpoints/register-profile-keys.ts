import { errors, fileMessages, keyRegistration, limits, profileKeysAnswer } from '@sluice/contract'
import { declareKeys, KeyLimitExceeded, TypeConflict } from '@sluice/profiles'
import { answer } from '../answers.ts'
import { endpoint, refusal, wrong } from '../endpoint.ts'
import { exampleKeys } from './list-profile-keys.ts'

const zip = { key: 'zip', type: 'string' }

/** Registers profile keys, all or none (second-day.md §1, Profile keys). */
export const registerProfileKeys = endpoint({
  id: 'registerProfileKeys',
  route: 'POST /v1/profile_keys',
  tag: 'Profiles',
  summary: 'Register profile keys',
  description: [
    `Registers up to ${limits.keysPerRequest} keys with their types, so that no import has to infer them. A registered type is`,
    'final. Keys that already have the wanted type stay unchanged, so the request can be repeated. All keys are registered, or',
    'none. The answer has the keys of the request, sorted.',
  ].join('\n'),
  extension: true,
  limit: { function: 'key_registration', rate: '1000/60s', counts: 'Registrations of profile keys' },
  audit: { unrecordedBecause: 'each key has the time of its registration' },
  // A repetition after a crash has the same effect, so keys and response need not commit together.
  // second-day.md §4, Keys.
  idempotency: { isRepeatable: true },
  body: {
    description: 'The keys with their types.',
    schema: keyRegistration,
    example: { profile_keys: [zip, { key: 'born', type: 'datetime' }] },
  },
  answer: { status: 200, description: 'All are registered.', schema: profileKeysAnswer, example: exampleKeys },
  refusals: [
    wrong('no_list', 'There is no list of keys.', {}),
    wrong('empty_list', 'The list is empty.', { profile_keys: [] }),
    wrong('long_list', 'The list is too long.', { profile_keys: Array(limits.keysPerRequest + 1).fill(zip) }),
    wrong('type', 'A type is not known.', { profile_keys: [{ key: 'zip', type: 'text' }] }),
    wrong('key', 'A key is not valid.', { profile_keys: [{ key: '', type: 'string' }] }),
    wrong('reserved', 'A key is a reserved name.', { profile_keys: [{ key: 'user_id', type: 'string' }] }),
    wrong('two_types', 'A key has two types.', { profile_keys: [zip, { key: 'zip', type: 'int' }] }),
    refusal(
      'too_many_keys',
      'The app would have more keys than its limit.',
      errors.badRequest(fileMessages.tooManyKeys(500)),
    ),
    refusal(
      'registered_type',
      'Keys are registered with another type. There is a message for each.',
      errors.keyConflict(fileMessages.otherType('age', 'int')),
    ),
  ],
  serve:
    ({ db, settings }) =>
    async ({ appId, body, reply }) => {
      try {
        return { profile_keys: await declareKeys(db, appId, body.profile_keys, settings.PROFILE_KEY_LIMIT) }
      } catch (error) {
        if (error instanceof TypeConflict) return answer(reply, errors.keyConflict(...error.messages))
        if (error instanceof KeyLimitExceeded) return answer(reply, errors.badRequest(error.message))
        throw error
      }
    },
})
