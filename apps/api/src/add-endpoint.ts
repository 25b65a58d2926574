import { checkRequest, errors } from '@sluice/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { answer } from './answers.ts'
import { appOf, authentication } from './authentication.ts'
import type { ApiContext } from './context.ts'
import { type Call, checkBody, type Endpoint } from './endpoint.ts'
import { claimKeyOf } from './idempotency.ts'
import { recordResponse } from './keyed-request.ts'

/**
 * Adds the route of an endpoint. A request is authenticated, its idempotency key is looked up, `limitRate` counts it,
 * and its query and body are checked, before the endpoint handles it.
 */
export function addEndpoint(
  api: FastifyInstance,
  context: ApiContext,
  endpoint: Endpoint,
  limitRate: (endpoint: Endpoint) => onRequestHookHandler[],
): void {
  const { method, path, json, audit, limit, idempotency } = endpoint
  const { onRequest = [], preParsing = [] } = endpoint.hooks?.(context) ?? {}
  const handle = endpoint.serve(context)
  const url = path.replace(/\{(\w+)\}/g, (_, name) => `:${parameterOf(name)}`)
  api.route({
    method,
    url,
    onRequest: [
      onRequest,
      // service.md, Authentication 1.
      limit === undefined ? [] : authentication(context),
      idempotency === undefined ? [] : claimKeyOf(`${method} ${path}`, context.db),
      limitRate(endpoint),
    ].flat(),
    preParsing,
    config: { endpoint, ...(audit && { audit }) },
    ...(json && { bodyLimit: json.limit }),
    async handler(request, reply) {
      const checked = checkedRequest(endpoint, request)
      if ('messages' in checked) {
        return answer(reply, (json?.refuse ?? errors.badRequest)(...checked.messages))
      }
      reply.code(endpoint.answer.status)
      return await handle(callOf(checked.value, request, reply) as Call<never, never, string>)
    },
  })
}

/** Returns the checked body of a request, or its query if it has no body. */
function checkedRequest(endpoint: Endpoint, request: FastifyRequest) {
  const { json, query } = endpoint
  if (json !== undefined) return checkBody(endpoint, request.body)
  return query === undefined ? { value: undefined } : checkRequest(query, request.query)
}

function callOf(value: unknown, request: FastifyRequest, reply: FastifyReply): Call<unknown, unknown, string> {
  return {
    request,
    reply,
    get appId() {
      return appOf(request)
    },
    body: value,
    query: value,
    params: paramsOf(request),
    record: (tx, body, importId) => recordResponse(request, tx, body, importId),
  }
}

/** Returns the name of a parameter in fastify's paths, which logs and metrics show: `importId` of `import_id`. */
function parameterOf(name: string): string {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

/** Returns the parameters of the path by their names in the API document. */
function paramsOf({ params }: FastifyRequest): Record<string, string> {
  const entries = Object.entries(params as Record<string, string>)
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  )
}
