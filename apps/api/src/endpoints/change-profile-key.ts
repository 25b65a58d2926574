import { errors, fileMessages, keyChange, limits, profileKeyView } from '@sluice/contract'
import { changeKeys, KeyLimitExceeded, keyChangeText, UnregisteredKeys } from '@sluice/profiles'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal, wrong } from '../endpoint.ts'
import { exampleKeys } from './list-profile-keys.ts'

/** Enables, disables or describes a profile key (changes.md §4). */
export const changeProfileKey = endpoint({
  id: 'changeProfileKey',
  route: 'PATCH /v1/profile_keys/{key}',
  tag: 'Profiles',
  summary: 'Enable, disable or describe a profile key',
  description: [
    'A disabled key does not count towards the limit of keys. Its values stay stored, but imports ignore its column, profile',
    'updates refuse it, and exports and users leave it out. Enabling the key brings its values back. The key is percent-encoded.',
  ].join('\n'),
  extension: true,
  limit: { function: 'key_change', rate: '1000/60s', counts: 'Changes of profile keys' },
  audit: { what: 'key.change', target: ({ params }) => (params as { key: string }).key },
  params: {
    key: z.string().min(1).max(limits.keyLength).meta({ description: 'A registered profile key.', example: 'zip' }),
  },
  body: {
    description: 'What changes.',
    schema: keyChange,
    example: { enabled: false, description: 'Replaced by zip_code' },
  },
  answer: {
    status: 200,
    description: 'The key as it is now.',
    schema: profileKeyView,
    example: exampleKeys.profile_keys[1],
  },
  refusals: [
    wrong('empty', 'Nothing is to change.', {}),
    wrong('member', 'There is another member.', { type: 'int' }),
    wrong('enabled', 'The value of enabled is not a boolean.', { enabled: 'yes' }),
    wrong('description', 'The description is too long.', { description: 'x'.repeat(limits.keyDescriptionLength + 1) }),
    refusal('unknown', 'The key is not registered.', errors.notFound()),
    refusal(
      'too_many_keys',
      'The app would have more enabled keys than its limit.',
      errors.keyConflict(fileMessages.tooManyKeys(500)),
    ),
  ],
  serve:
    ({ db, settings }) =>
    async ({ appId, body, params, request, reply }) => {
      try {
        const change = { keys: [params.key], ...body }
        const { keys, hasChanged } = await changeKeys(db, appId, change, settings.PROFILE_KEY_LIMIT)
        request.auditTarget = keyChangeText(change)
        request.auditChange = hasChanged
        return keys[0] ?? answer(reply, errors.notFound())
      } catch (error) {
        if (error instanceof UnregisteredKeys) return answer(reply, errors.notFound())
        if (error instanceof KeyLimitExceeded) return answer(reply, errors.keyConflict(error.message))
        throw error
      }
    },
})
