import { errors } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { PathItem } from '../document-types.ts'
import { success, tokenResponses } from '../responses.ts'

const parameter = (name: string, description: string, maxLength: number, example: string) =>
  ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string', minLength: 1, maxLength },
    example,
  }) as const

/** `/v1/users/{user_id}/profiles/{key}`. */
export const userValuePath: PathItem = {
  delete: {
    operationId: 'removeValue',
    tags: ['Profiles'],
    summary: 'Remove a value of a user',
    description: [
      "Extension of Sluice. Removes one key's value from a user's profile. The key stays registered. Repeating the request",
      'changes nothing. User ID and key are percent-encoded.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    parameters: [
      parameter('user_id', 'A registered user.', limits.userIdLength, 'alice'),
      parameter('key', 'A registered profile key.', limits.keyLength, 'name'),
    ],
    responses: tokenResponses({ 204: success('The user has no value for the key.', undefined) }, [
      { name: 'unknown', when: 'The user or the key is not registered.', answer: errors.notFound() },
    ]),
  },
}
