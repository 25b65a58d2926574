import { documentedAll } from '@sluice/contract'
import { z } from 'zod'
import type { Endpoint } from '../endpoint.ts'
import type { JsonSchema } from './document-types.ts'

const messages = z.array(z.string()).min(1).meta({ description: 'Descriptions of the errors.' })

const code = z.literal([1001, 1002, 1003, 2001]).meta({ type: 'integer' })

/** The bodies of refusals (service.md, Errors). `responses.ts` knows their IDs. */
const refusalBodies = [
  z
    .object({ error: z.object({ code: code.optional(), messages }) })
    .meta({ id: 'Error', description: 'An error. `code` is present if the endpoint has error codes.' }),
  z
    .object({
      status: z.enum(['unauthorized', 'forbidden', 'not_found', 'too_many_requests']),
      error: z.object({ messages }),
    })
    .meta({ id: 'NamedError', description: 'An error that is the same at every endpoint.' }),
]

/** Returns the JSON Schemas of all bodies by ID. */
export function allSchemas(endpoints: readonly Endpoint[]): Record<string, JsonSchema> {
  const [sent, answered] = [documentedAll('input'), documentedAll('output')]
  const answers = [...endpoints.flatMap(({ answer }) => answer.schema ?? []), ...refusalBodies].map(idOf)
  return { ...sent, ...Object.fromEntries(answers.map((id) => [id, answered[id] ?? {}])) }
}

/** Returns a reference to the schema of a body. */
export function schemaRef(schema: z.ZodType): JsonSchema {
  return { $ref: `#/components/schemas/${idOf(schema)}` }
}

function idOf(schema: z.ZodType): string {
  const { id } = schema.meta() ?? {}
  if (id === undefined) throw new Error('the schema of a body has no ID')
  return id
}
