import { acceptedAnswer, documented, limits, listOf, nameOf } from '@sluice/contract'
import { currentTime } from '@sluice/database'
import { requestDeletion as storeRequest } from '@sluice/deletions'
import { z } from 'zod'
import { tokenLastFour } from '../authentication.ts'
import { endpoint, wrong } from '../endpoint.ts'

// design.md §3, Deletion: unknown user IDs.
const userId = nameOf(limits.userIdLength)
const mostIds = limits.userIdsPerRequest.toLocaleString('en')
const userIdList = listOf(userId, 'user IDs', limits.userIdsPerRequest)

/** One user ID, or an array of them. Both occur in service.md. */
const oneOrMany = z
  .unknown()
  .optional()
  .transform((given, context): string[] => {
    const schema = typeof given === 'string' ? userId.transform((one) => [one]) : userIdList
    const { data, error } = schema.safeParse(given)
    for (const issue of error?.issues ?? []) {
      const isList = Array.isArray(given) || typeof given === 'string'
      const message = isList ? issue.message : 'must be a user ID or an array of user IDs'
      context.addIssue({ code: 'custom', message, path: issue.path })
    }
    return data ?? z.NEVER
  })

/**
 * Registers users for deletion (service.md, Endpoints 1; service.md, Deletion request; service.md, Errors: 400).
 * The endpoint records a request, and workers process it.
 */
export const requestDeletion = endpoint({
  id: 'requestDeletion',
  // service.md, Versioning.
  route: 'POST /v3/user_data_deletions',
  tag: 'Deletion',
  summary: 'Register users for deletion',
  description: [
    `Deletes all data of up to ${mostIds} users per request. The IDs need not be registered. A deletion cannot be cancelled.`,
    '',
    'Deletion starts 6 days after the request. From then on the users are excluded from campaign targets; they can still be',
    'updated. Deletion completes on the 7th of the month that follows the start. It removes the users, all their profile',
    'values, including values received after the request, and the stored files of imports that ended before. The IDs are',
    'unregistered again. One mail is sent for all deletions that complete on the same day. If several requests name a user,',
    'the user is deleted once, on the earliest of their dates.',
  ].join('\n'),
  // service.md, Limits.
  limit: { function: 'deletion', rate: '1000/60s', counts: 'Deletion requests' },
  audit: { what: 'deletion.request' },
  // second-day.md §4, Keys.
  idempotency: {},
  body: {
    description: 'The user ID or IDs.',
    schema: z
      .object({
        identity_type: z.literal('user_id', 'must be user_id'),
        identity_value: oneOrMany.meta({
          description: 'One user ID or several.',
          anyOf: [documented(userIdList), documented(userId)],
        }),
      })
      .meta({ id: 'DeletionRequest', required: ['identity_type', 'identity_value'] }),
    example: { identity_type: 'user_id', identity_value: ['alice', 'bob'] },
    maxBytes: limits.userIdListBytes,
  },
  answer: { status: 202, description: 'Accepted.', schema: acceptedAnswer, example: { status: 'accepted' } },
  refusals: [
    wrong('identity_type', 'The type is not user_id.', { identity_type: 'email', identity_value: 'alice' }),
    wrong('no_identity_value', 'There is no user ID.', { identity_type: 'user_id' }),
    wrong('empty_list', 'The list is empty.', { identity_type: 'user_id', identity_value: [] }),
    wrong('invalid_id', 'A user ID is not valid.', { identity_type: 'user_id', identity_value: ['alice', ''] }),
  ],
  serve:
    (context) =>
    async ({ appId, body, request, record }) => {
      const { identity_value: userIds } = body
      request.auditTarget = userIds.length === 1 ? '1 user' : `${userIds.length} users`
      const answer = { status: 'accepted' } as const
      const deletion = { appId, userIds, tokenLastFour: tokenLastFour(request) }
      await storeRequest(context, deletion, await currentTime(context.db), (tx) => record(tx, answer))
      return answer
    },
})
