import { parseDeletionRequest } from '../../deletion.ts'
import { errors } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { PathItem } from '../document-types.ts'
import { acceptsKey } from '../idempotency.ts'
import { type ErrorCase, json, jsonBodyErrors, success, tokenResponses } from '../responses.ts'

/** Returns the case of an invalid request, with the messages of the real check. */
function refused(name: string, when: string, body: unknown): ErrorCase {
  const parsed = parseDeletionRequest(body)
  return { name, when, answer: errors.badRequest(...('messages' in parsed ? parsed.messages : [])) }
}

const cases = [
  refused('identity_type', 'The type is not user_id.', { identity_type: 'email', identity_value: 'alice' }),
  refused('no_identity_value', 'There is no user ID.', { identity_type: 'user_id' }),
  refused('empty_list', 'The list is empty.', { identity_type: 'user_id', identity_value: [] }),
  refused('invalid_id', 'A user ID is not valid.', { identity_type: 'user_id', identity_value: ['alice', ''] }),
  refused('no_object', 'The body is not a JSON object.', []),
  { name: 'not_json', when: 'The body is not JSON.', answer: errors.malformedJson() },
]

/** `/v3/user_data_deletions`. */
export const deletionPath: PathItem = {
  post: acceptsKey({
    operationId: 'requestDeletion',
    tags: ['Deletion'],
    summary: 'Register users for deletion',
    description: [
      'Deletes all data of up to 10,000 users per request. The IDs need not be registered. A deletion cannot be cancelled.',
      '',
      'Deletion starts 6 days after the request. From then on the users are excluded from campaign targets; they can still be',
      'updated. Deletion completes on the 7th of the month that follows the start. It removes the users, all their profile',
      'values, including values received after the request, and the stored files of imports that ended before. The IDs are',
      'unregistered again. One mail is sent for all deletions that complete on the same day. If several requests name a user,',
      'the user is deleted once, on the earliest of their dates.',
    ].join('\n'),
    security: [{ token: [] }],
    requestBody: {
      required: true,
      description: 'The user ID or IDs.',
      content: json('DeletionRequest', { identity_type: 'user_id', identity_value: ['alice', 'bob'] }),
    },
    responses: tokenResponses({ 202: success('Accepted.', json('Accepted', { status: 'accepted' })) }, [
      ...cases,
      ...jsonBodyErrors(limits.deletionBytes),
    ]),
  }),
}
