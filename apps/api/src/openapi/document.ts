import { documented } from '@sluice/contract'
import type { z } from 'zod'
import type { Endpoint } from '../endpoint.ts'
import { endpoints } from '../endpoints/index.ts'
import { codeSamples } from './code-samples.ts'
import type { ApiDocument, Content, JsonSchema, Operation, Parameter } from './document-types.ts'
import { responsesOf } from './responses.ts'
import { allSchemas, schemaRef } from './schemas.ts'

const description = `Sluice keeps the profiles of an app's end users. A profile has values by key, and each key has one type. Profiles are
updated one user at a time, or in bulk from CSV files.

**Requests.** Bodies are JSON in UTF-8 and have at most 1 MiB, unless an endpoint says otherwise. Endpoints marked with
\`token\` need an API token in the header \`X-Service-Token\`. An unknown path is answered 404, and so is a method that a path
does not have. HEAD is answered wherever GET is, and counts as GET.

**Rate limits.** Requests are counted per API token and function in fixed windows. The headers \`X-RateLimit-Limit\`,
\`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` describe the current window. The \`Retry-After\` of a 429 says how long to wait.

**Errors** have \`error.messages\`, and some have an \`error.code\`. Errors that are the same at every endpoint also have a
\`status\`.

**Extensions** are additions of this implementation to the documented service. \`x-sluice-extension\` marks them.`

const tags: Record<Endpoint['tag'], string> = {
  'Bulk import': 'Profiles of many users from a file.',
  Profiles: 'Users and their profiles.',
  Deletion: 'Deletion of the data of users.',
  Operation: 'Health and metrics for operators, and this document.',
}

/** Returns the OpenAPI 3.1 document of the API. */
export function openApiDocument(apiUrl: string): ApiDocument {
  const byPath = Map.groupBy(endpoints, ({ path }) => path)
  const paths = [...byPath].map(([path, same]) => {
    return [path, Object.fromEntries(same.map((each) => [each.method.toLowerCase(), withSamples(apiUrl, each)]))]
  })
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice API', version: '1.0.0', description },
    servers: [{ url: apiUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(paths),
    components: {
      schemas: allSchemas(endpoints),
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Service-Token',
          description: 'The API token of the app. Registering a new token revokes the current token at once.',
        },
      },
    },
  }
}

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: [
    'Extension of Sluice. 1 to 255 visible ASCII characters, a new key for each request. A repetition with the same key and body',
    'gets the original response for 24 hours, and changes nothing. It does not count against the rate limit.',
  ].join(' '),
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
}

function withSamples(apiUrl: string, endpoint: Endpoint): Operation {
  const operation = operationOf(endpoint)
  return { ...operation, 'x-codeSamples': codeSamples(apiUrl, endpoint.method, endpoint.path, operation) }
}

function operationOf(endpoint: Endpoint): Operation {
  const { id, tag, summary, extension, deprecated, isPublic, params = {}, query, json, file, idempotency } = endpoint
  const parameters = [
    ...Object.entries(params).map(([name, schema]) => parameterOf(name, 'path', schema)),
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => parameterOf(name, 'query', schema)),
    ...(idempotency === undefined ? [] : [idempotencyKey]),
  ]
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: extension ? `Extension of Sluice. ${endpoint.description}`.trimEnd() : endpoint.description,
    ...(deprecated && { deprecated }),
    // second-day.md, Extensions.
    ...(extension && { 'x-sluice-extension': true }),
    security: isPublic ? [] : [{ token: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(json && { requestBody: { required: !json.isOptional, ...jsonBody(json) } }),
    ...(file && { requestBody: { required: true, description: file.description, content: filesContent(file.files) } }),
    responses: responsesOf(endpoint),
  }
}

function parameterOf(name: string, place: 'path' | 'query', type: z.core.$ZodType): Parameter {
  const { description, example, ...schema } = documented(type as z.ZodType) as Parameter & JsonSchema
  return { name, in: place, ...(place === 'path' && { required: true }), description, schema, example }
}

function jsonBody({ description, schema, example }: NonNullable<Endpoint['json']>) {
  const content = { 'application/json': { schema: schemaRef(schema), examples: { example: { value: example } } } }
  return { description, content }
}

function filesContent(files: Record<string, string>): Record<string, Content> {
  const schema = { type: 'string', format: 'binary' }
  return Object.fromEntries(
    Object.entries(files).map(([type, value]) => [type, { schema, examples: { example: { value } } }]),
  )
}
