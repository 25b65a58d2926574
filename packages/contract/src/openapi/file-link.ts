import { errors } from '../errors.ts'
import type { PathItem } from './document-types.ts'
import { openResponses, success } from './responses.ts'

/** Describes a link to a file. */
interface FileLink {
  operationId: string
  tag: string
  summary: string
  description: string
  /** An example of the secret part of the link. */
  token: string
  /** When the link is answered as expired. */
  expired: string
}

/** Returns the description of a link to a file in storage, such as `/error_files/{token}`. */
export function fileLinkPath({ operationId, tag, summary, description, token, expired }: FileLink): PathItem {
  return {
    get: {
      operationId,
      tags: [tag],
      summary,
      description,
      'x-sluice-extension': true,
      security: [],
      parameters: [
        {
          name: 'token',
          in: 'path',
          required: true,
          description: 'The secret part of the link.',
          schema: { type: 'string' },
          example: token,
        },
      ],
      responses: openResponses(
        {
          302: success('The address of the file, which is valid for 5 minutes.', undefined, {
            Location: {
              description: 'Address of the file.',
              schema: { type: 'string', format: 'uri' },
              required: true,
            },
          }),
        },
        [
          { name: 'unknown', when: 'The link is unknown.', answer: errors.notFound() },
          { name: 'expired', when: expired, answer: errors.linkExpired() },
        ],
      ),
    },
  }
}
