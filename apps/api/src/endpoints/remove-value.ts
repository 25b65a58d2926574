import { errors, limits } from '@sluice/contract'
import { removeValue as removeStored } from '@sluice/profiles'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal } from '../endpoint.ts'

/** Removes one value of one user (second-day.md §2, Removing a value). */
export const removeValue = endpoint({
  id: 'removeValue',
  route: 'DELETE /v1/users/{user_id}/profiles/{key}',
  tag: 'Profiles',
  summary: 'Remove a value of a user',
  description: [
    "Removes one key's value from a user's profile. The key stays registered. Repeating the request",
    'changes nothing. User ID and key are percent-encoded.',
  ].join('\n'),
  extension: true,
  limit: { function: 'value_removal', rate: '1000/60s', counts: 'Removals of values' },
  audit: { unrecordedBecause: 'the log must not hold user IDs and values' },
  params: {
    user_id: z.string().min(1).max(limits.userIdLength).meta({ description: 'A registered user.', example: 'alice' }),
    key: z.string().min(1).max(limits.keyLength).meta({ description: 'A registered profile key.', example: 'name' }),
  },
  answer: { status: 204, description: 'The user has no value for the key.' },
  refusals: [refusal('unknown', 'The user or the key is not registered.', errors.notFound())],
  serve:
    ({ db }) =>
    async ({ appId, params, reply }) => {
      const isRegistered = await removeStored(db, appId, params.user_id, params.key)
      return isRegistered ? undefined : answer(reply, errors.notFound())
    },
})
