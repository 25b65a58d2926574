import { errors } from '../../errors.ts'
import { limits } from '../../limits.ts'
import { parseUserRegistration } from '../../users.ts'
import type { PathItem } from '../document-types.ts'
import { acceptsKey } from '../idempotency.ts'
import { type ErrorCase, json, jsonBodyErrors, success, tokenResponses } from '../responses.ts'

/** Returns the case of an invalid request, with the messages of the real check. */
function refused(name: string, when: string, body: unknown): ErrorCase {
  const parsed = parseUserRegistration(body)
  return { name, when, answer: errors.badRequest(...('messages' in parsed ? parsed.messages : [])) }
}

const cases = [
  refused('no_list', 'There is no list of user IDs.', {}),
  refused('empty_list', 'The list is empty.', { user_ids: [] }),
  refused('invalid_id', 'A user ID is not valid.', { user_ids: ['alice', ''] }),
  refused('no_object', 'The body is not a JSON object.', []),
  { name: 'not_json', when: 'The body is not JSON.', answer: errors.malformedJson() },
]

/** `/v1/users`. */
export const usersPath: PathItem = {
  post: acceptsKey({
    operationId: 'registerUsers',
    tags: ['Profiles'],
    summary: 'Register users',
    description: [
      'Extension of Sluice. Registers up to 10,000 user IDs per request. They are registered before the answer is sent.',
      'Users who are already registered stay unchanged.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    requestBody: {
      required: true,
      description: 'The user IDs.',
      content: json('UserRegistrationRequest', { user_ids: ['alice', 'bob'] }),
    },
    responses: tokenResponses({ 202: success('All are registered.', json('Accepted', { status: 'accepted' })) }, [
      ...cases,
      ...jsonBodyErrors(limits.userRegistrationBytes),
    ]),
  }),
}

/** `/v1/users/{user_id}`. */
export const userPath: PathItem = {
  get: {
    operationId: 'getUser',
    tags: ['Profiles'],
    summary: 'One user',
    description:
      'Extension of Sluice. A registered user with every profile value, and the pending deletion if there is one.',
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [
      {
        name: 'user_id',
        in: 'path',
        required: true,
        description: 'The user ID, percent-encoded.',
        schema: { type: 'string' },
        example: 'alice',
      },
    ],
    responses: tokenResponses(
      {
        200: success(
          'The user.',
          json('User', {
            user_id: 'alice',
            profiles: {
              age: { type: 'int', value: 34 },
              last_visit: { type: 'datetime', value: '2026-03-01 09:30:00.000' },
            },
            campaign_target: true,
            deletion: null,
          }),
        ),
      },
      [{ name: 'unknown', when: 'The user is not registered.', answer: errors.notFound() }],
    ),
  },
}
