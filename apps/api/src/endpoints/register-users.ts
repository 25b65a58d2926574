import { acceptedAnswer, limits, listOf, nameOf } from '@sluice/contract'
import { registerUsers as storeUsers } from '@sluice/profiles'
import { z } from 'zod'
import { endpoint, wrong } from '../endpoint.ts'

const mostIds = limits.userIdsPerRequest.toLocaleString('en')

// design.md §3, Registering users.
export const registerUsers = endpoint({
  id: 'registerUsers',
  route: 'POST /v1/users',
  tag: 'Profiles',
  summary: 'Register users',
  description: [
    `Registers up to ${mostIds} user IDs per request. They are registered before the answer is sent.`,
    'Users who are already registered stay unchanged.',
  ].join('\n'),
  extension: true,
  limit: { function: 'user_registration', rate: '1000/60s', counts: 'Registrations of users' },
  audit: { unrecordedBecause: 'the log must not hold user IDs' },
  // second-day.md §4, Keys.
  idempotency: {},
  body: {
    description: 'The user IDs.',
    schema: z
      .object({ user_ids: listOf(nameOf(limits.userIdLength), 'user IDs', limits.userIdsPerRequest) })
      .meta({ id: 'UserRegistrationRequest' }),
    example: { user_ids: ['alice', 'bob'] },
    maxBytes: limits.userIdListBytes,
  },
  answer: { status: 202, description: 'All are registered.', schema: acceptedAnswer, example: { status: 'accepted' } },
  refusals: [
    wrong('no_list', 'There is no list of user IDs.', {}),
    wrong('empty_list', 'The list is empty.', { user_ids: [] }),
    wrong('invalid_id', 'A user ID is not valid.', { user_ids: ['alice', ''] }),
  ],
  serve:
    ({ db }) =>
    async ({ appId, body }) => {
      await storeUsers(db, appId, body.user_ids)
      return { status: 'accepted' } as const
    },
})
