import assert from 'node:assert/strict'
import type {
  ApiDocument,
  Response as DocumentedResponse,
  JsonSchema,
  Operation,
} from '@sluice/api-app/src/openapi/document-types.ts'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** An answer of the running API, or the bytes received on a raw connection. */
export interface Answer {
  status: number
  /** Headers by lower-case name. */
  headers: Record<string, string>
  body: string
}

/** An operation, with its method and path. */
export interface DocumentedOperation extends Operation {
  method: string
  path: string
}

/** Headers that the API document need not list. They belong to HTTP itself, or hardening adds them to every answer. */
const unremarkable = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'referrer-policy',
  'transfer-encoding',
  'x-content-type-options',
  'x-frame-options',
])

/** All operations of a document. */
export function operationsOf(document: ApiDocument): DocumentedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

/** Returns an operation's path with the examples of its parameters, some of them replaced. */
export function pathOf({ path, parameters = [] }: DocumentedOperation, replaced: Record<string, string> = {}): string {
  const examples = Object.fromEntries(parameters.map(({ name, example }) => [name, String(example)]))
  return path.replace(/\{(\w+)\}/g, (_, name) => replaced[name] ?? examples[name] ?? '')
}

/** Returns the documented response of a status. Throws if there is none. */
function responseOf(operation: Operation, status: number): DocumentedResponse {
  const response = operation.responses[String(status)]
  assert(response, `${operation.operationId} does not document ${status}`)
  return response
}

/** Checks values and answers against a document. */
export interface DocumentCheck {
  /** Throws if the value does not match the schema. The schema may refer to schemas of the document. */
  matches(schema: JsonSchema, value: unknown, what: string): void
  /** Throws if the status, headers, media type or body of the answer are not as documented. */
  answer(operation: Operation, answer: Answer): void
}

export function documentCheck({ components }: ApiDocument): DocumentCheck {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  const check: DocumentCheck = {
    matches(schema, value, what) {
      const validate = ajv.compile({ ...schema, components })
      assert(validate(value), `${what}: ${describe(validate.errors)}\n${JSON.stringify(value)}`)
    },
    answer(operation, { status, headers, body }) {
      const what = `${operation.operationId} ${status}`
      const response = responseOf(operation, status)
      const documented = new Map(
        Object.entries(response.headers ?? {}).map(([name, header]) => [name.toLowerCase(), header]),
      )
      for (const name of Object.keys(headers)) {
        assert(unremarkable.has(name) || documented.has(name), `${what} does not document the header ${name}`)
      }
      for (const [name, { schema, required }] of documented) {
        const value = headers[name]
        if (value === undefined) assert(!required, `${what} has no header ${name}`)
        else check.matches(schema, schema.type === 'integer' ? Number(value) : value, `${what}, header ${name}`)
      }
      if (response.content === undefined) {
        assert.equal(body, '', `${what} has a body`)
        return
      }
      const type = headers['content-type']?.split(';')[0] ?? 'none'
      const content = response.content[type]
      assert(content, `${what} does not document the type ${type}`)
      check.matches(content.schema, type === 'application/json' ? JSON.parse(body) : body, what)
    },
  }
  return check
}

function describe(errors: ErrorObject[] | null | undefined): string {
  return (errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ')
}
