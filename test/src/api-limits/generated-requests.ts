import type { ApiDocument } from '@sluice/api-app/src/openapi/document-types.ts'
import fc from 'fast-check'
import { type DocumentedOperation, pathOf } from './document-check.ts'

/** The documented example of a request, with one change. */
export interface GeneratedRequest {
  path: string
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer> | undefined
  /** Names of what was changed. A refusal's message must contain one of them. Empty if the change has no name. */
  names: string[]
}

type Json = Record<string, unknown> | unknown[]

const strange = fc.constantFrom<unknown>(
  ...['', ' ', '\0', '\ud800', '__proto__', '$name', 'user_id', 'x'.repeat(256), '-1', '1e999', 'true', 'null'],
  ...[null, true, 0, -1, 2 ** 53, 1e308, [], {}, [[]], [null], { key: {} }, Array.from({ length: 501 }, () => 'x')],
)
const anyValue = fc.oneof(strange, fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: 'binary', maxLength: 300 }))

const anyText = fc.oneof(
  fc.constantFrom('', ' ', '\0', '..', '__proto__', 'x'.repeat(256), '0', '101', 'failed', 'v3'),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.uuid(),
  fc.nat().map(String),
)
const encoded = anyText.map((text) => encodeURIComponent(text.toWellFormed()))
// `fetch` would resolve a segment of dots, and send another path.
const anySegment = fc
  .oneof(encoded, fc.constantFrom('%', '%ff', '%ED%A0%80', '%00'), fc.webSegment())
  .filter((segment) => !/^(\.|%2e){1,2}$/i.test(segment))
const anyHeader = fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,300}$/)
const anyBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => new Uint8Array(bytes))

/**
 * Returns generated requests of an operation: its example, unchanged or with one change. The change replaces a
 * parameter, a header or a body that is not JSON, or replaces or removes one member of a JSON body.
 */
export function requestsOf(operation: DocumentedOperation, document: ApiDocument): fc.Arbitrary<GeneratedRequest> {
  const [[type, content] = []] = Object.entries(operation.requestBody?.content ?? {})
  const example = content?.examples.example?.value
  const headers: Record<string, string> = type === undefined ? {} : { 'Content-Type': type }
  const isJson = type === 'application/json'
  const body = isJson ? JSON.stringify(example) : (example as string | undefined)
  const valid: GeneratedRequest = { path: pathOf(operation), headers, body, names: [] }

  const changes: fc.Arbitrary<Partial<GeneratedRequest>>[] = (operation.parameters ?? []).map((parameter) => {
    const { name } = parameter
    if (parameter.in === 'path') return anySegment.map((value) => ({ path: pathOf(operation, { [name]: value }) }))
    if (parameter.in === 'query')
      return encoded.map((value) => ({ path: `${valid.path}?${name}=${value}`, names: [name] }))
    return anyHeader.map((value) => ({ headers: { ...headers, [name]: value }, names: [name] }))
  })
  if (isJson) changes.push(changedBody(example as Json, optionalMembers(content?.schema, document)))
  else if (type !== undefined) changes.push(anyBytes.map((bytes) => ({ body: bytes })))
  return fc.oneof(fc.constant({}), ...changes).map((change) => ({ ...valid, ...change }))
}

/** Returns the names of all members of a body whose schema is a reference, including the optional members. */
function optionalMembers(schema: unknown, { components }: ApiDocument): string[] {
  const name = String((schema as { $ref: string }).$ref).replace(/^.*\//, '')
  return Object.keys(components.schemas[name]?.properties as object)
}

/** Replaces or removes one member of a body, at any depth. */
function changedBody(example: Json, members: readonly string[]): fc.Arbitrary<Partial<GeneratedRequest>> {
  const paths = [...members.map((name) => [name]), ...pathsOf(example).filter(({ length }) => length > 1)]
  const value = fc.option(anyValue, { nil: undefined, freq: 10 })
  return fc.tuple(fc.constantFrom(...paths), value).map(([path, replacement]) => {
    const body: Json = structuredClone(example)
    const parent = path.slice(0, -1).reduce<Record<string, unknown>>((at, key) => at[key] as never, body as never)
    parent[path.at(-1) ?? ''] = replacement
    // A message names a member of the body, or the key of an entry.
    const names = [path[0], parent.key].filter((name): name is string => typeof name === 'string' && name !== '')
    return { body: JSON.stringify(body), names }
  })
}

function pathsOf(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [[...path]]
  const inner = Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...path, key]))
  return path.length === 0 ? inner : [[...path], ...inner]
}
