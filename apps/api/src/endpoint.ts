import type { RouteAudit } from '@sluice/audit-log'
import { type Checked, checkRequest, type ErrorAnswer, errors, limits, type TextAnswer } from '@sluice/contract'
import type { Database } from '@sluice/database'
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { z } from 'zod'
import type { ApiContext } from './context.ts'
import type { Header, JsonSchema } from './openapi/document-types.ts'

// An endpoint states everything about itself in one file. The route, its rate limit and setting, and the OpenAPI
// document are made from it.

/** A refusal, for the document. */
export interface Refusal {
  /** Short name of the example. */
  name: string
  /** The condition of the answer. */
  when: string
  answer: ErrorAnswer | TextAnswer
}

/** A body or query that the endpoint's schema refuses. The document has the messages of the real check. */
interface RefusedExample {
  name: string
  when: string
  given: object
}

interface JsonBody<Body> {
  description: string
  schema: z.ZodType<Body>
  example: object
  /** Maximum number of bytes. Default: `limits.jsonBytes`. */
  maxBytes?: number
  /** Returns the answer to a body that is malformed or that the schema refuses. Default: `errors.badRequest`. */
  refuse?: (...messages: string[]) => ErrorAnswer
  /** The endpoint depends on how numbers are spelled: they may be of the class `JsonNumber`. Default: false. */
  keepsNumbers?: true
  /** No body means `{}`. Default: false. */
  isOptional?: true
}

/** A file as the body. The handler reads it, and may take `API_UPLOAD_TIMEOUT`. */
interface FileBody {
  description: string
  /** Examples by media type. */
  files: Record<string, string>
}

interface Success<Answer> {
  status: number
  description: string
  headers?: Record<string, Header>
  /** The JSON body. */
  schema?: z.ZodType<Answer>
  example?: Answer
  /** A body that is not described by a schema of its own. */
  content?: { type: string; schema: JsonSchema; example: unknown }
  /** The answer has a validator, so that a client that has the body already gets 304. */
  hasValidator?: true
}

/** How an endpoint treats the header `Idempotency-Key` (second-day.md §4, Keys). */
interface Idempotency {
  /** Returns a fresh body for a repetition if the stored body is out of date; undefined to send the stored body. */
  refresh?(context: ApiContext, appId: number, importId: string): Promise<unknown>
  /** A request that has succeeded may be handled again, without a further effect and with the same response. */
  isRepeatable?: true
}

/** A function that needs an API token, with a rate limit per token (service.md, Rate rules). */
interface RateLimited {
  /** Its name in metrics. The setting `RATE_LIMIT_…` has the same name in capitals. */
  function: string
  /** Default of the setting. */
  rate: string
  /** What is counted, for the description of the setting. */
  counts: string
}

/** What every endpoint states. */
interface Description {
  /** Its name in the OpenAPI document. */
  id: string
  tag: 'Deletion' | 'Profiles' | 'Bulk import' | 'Operation'
  summary: string
  description: string
  /** service.md does not have the endpoint. */
  extension?: true
  deprecated?: true
  /** What the audit log records. Absent: the endpoint changes nothing. */
  audit?: RouteAudit
  idempotency?: Idempotency
  /** Parameters of the path by name, with description and example in their `meta`. */
  params?: Record<string, z.ZodType>
  /** Headers of every answer, in addition to the headers of all endpoints. */
  headers?: Record<string, Header>
  hooks?(context: ApiContext): Pick<RouteShorthandOptions, 'onRequest' | 'preParsing'>
}

/** Who may call an endpoint. An endpoint has to state it, so that a forgotten limit does not open it to everybody. */
type Access = { limit: RateLimited; isPublic?: never } | { isPublic: true; limit?: never }

/** What a request sends to be checked: a body or a query, and not both. */
type Input = { body?: unknown; query?: never } | { body?: never; query?: unknown }

type Route = `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`

/** The parameters in a path, by name. */
type Params<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { [Key in Name]: string } & Params<Rest>
  : object

/** A request whose body and query are checked. */
export interface Call<Body, Query, Path> {
  request: FastifyRequest
  reply: FastifyReply
  /** The app of the token. */
  appId: number
  body: Body
  query: Query
  params: Params<Path>
  /**
   * Stores the response for repetitions with the same idempotency key, in the transaction of the request's effect, so
   * that effect and response commit together. Throws `KeyClaimLost`.
   */
  record(tx: Database, body: unknown, importId?: string): Promise<void>
}

/** An endpoint as its file states it. A handler returns the answer's body, or the reply of a refusal. */
interface Stated<Body, Query, Answer, Path extends Route> extends Description {
  route: Path
  query?: z.ZodObject & z.ZodType<Query>
  body?: JsonBody<Body> | FileBody
  answer: Success<Answer>
  refusals?: readonly (Refusal | RefusedExample)[]
  serve(context: ApiContext): (call: Call<Body, Query, Path>) => Promise<Answer | FastifyReply>
}

export interface Endpoint extends Description {
  /** Absent if the endpoint is public. */
  limit?: RateLimited
  /** Anybody may call the endpoint, without a token. */
  isPublic?: true
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With parameters in braces: `/v1/users/{user_id}`. */
  path: string
  query?: z.ZodObject
  json?: Required<Omit<JsonBody<unknown>, 'keepsNumbers' | 'isOptional'>> & {
    keepsNumbers: boolean
    isOptional: boolean
  }
  file?: FileBody
  answer: Success<unknown>
  refusals: readonly Refusal[]
  serve(context: ApiContext): (call: Call<never, never, string>) => Promise<unknown>
}

/** Makes an endpoint of what its file states. */
export function endpoint<const Path extends Route, Body, Query, Answer>(
  stated: Stated<Body, Query, Answer, Path> & Access & Input,
): Endpoint {
  const { route, body, query, refusals = [], serve, ...described } = stated
  const [method, path = ''] = route.split(' ') as [Endpoint['method'], string]
  const refuse = (body && 'refuse' in body && body.refuse) || errors.badRequest
  const checked = body && 'schema' in body ? body.schema : query
  const refusalOf = ({ name, when, given }: RefusedExample): Refusal => {
    const result = checked === undefined ? { messages: [] } : checkRequest(checked as z.ZodType, given)
    return { name, when, answer: refuse(...('messages' in result ? result.messages : [])) }
  }
  return {
    ...described,
    method,
    path,
    ...(query !== undefined && { query }),
    ...(body &&
      'schema' in body && {
        json: { maxBytes: limits.jsonBytes, keepsNumbers: false, isOptional: false, ...body, refuse },
      }),
    ...(body && 'files' in body && { file: body }),
    refusals: refusals.map((each) => ('given' in each ? refusalOf(each) : each)),
    serve: serve as Endpoint['serve'],
  }
}

/** Checks a JSON body against the endpoint's schema. Returns its value, or the messages of the refusal. */
export function checkBody({ id, json }: Endpoint, body: unknown): Checked<unknown> {
  if (json === undefined) throw new Error(`${id} has no JSON body`)
  return checkRequest(json.schema, json.isOptional ? (body ?? {}) : body)
}

/** The refusal of a body or query that the endpoint's schema refuses. */
export const wrong = (name: string, when: string, given: object): RefusedExample => ({ name, when, given })

export const refusal = (name: string, when: string, answer: Refusal['answer']): Refusal => ({ name, when, answer })

/** What endpoints about the service itself have in common. */
export const ofService = { tag: 'Operation', extension: true, isPublic: true } as const

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The endpoint of the route; undefined for unknown paths. */
    endpoint?: Endpoint
  }
}
