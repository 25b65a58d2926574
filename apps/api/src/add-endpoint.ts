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
  const { method, path, json, audit, isPublic, idempotency } = endpoint
  const { onRequest = [], preParsing = [] } = endpoint.hooks?.(context) ?? {}
  const handle = endpoint.serve(context)
  api.route({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    onRequest: [
      onRequest,
      // service.md, Authentication 1.
      isPublic ? [] : authentication(context),
      idempotency === undefined ? [] : claimKeyOf(`${method} ${path}`, context.db),
      limitRate(endpoint),
    ].flat(),
    preParsing,
    config: { endpoint, ...(audit && { audit }) },
    ...(json && { bodyLimit: json.maxBytes }),
    async handler(request, reply) {
      const checked = checkedRequest(endpoint, request)
      if ('messages' in checked) {
        if (request.keyed !== undefined) request.keyed.isRefused = true
        return answer(reply, (json?.refuse ?? errors.badRequest)(...checked.messages))
      }
      reply.code(endpoint.answer.status)
      return await handle(callOf(endpoint, checked.value, request, reply) as Call<never, never, string>)
    },
  })
}

/** Returns the checked body or the checked query of a request. An endpoint has only one of them. */
function checkedRequest(endpoint: Endpoint, request: FastifyRequest) {
  const { json, query } = endpoint
  if (json !== undefined) return checkBody(endpoint, request.body)
  return query === undefined ? { value: undefined } : checkRequest(query, request.query)
}

function callOf(
  { json }: Endpoint,
  value: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Call<unknown, unknown, string> {
  return {
    request,
    reply,
    get appId() {
      return appOf(request)
    },
    body: json === undefined ? undefined : value,
    query: json === undefined ? value : undefined,
    params: request.params as Record<string, string>,
    record: (tx, body, importId) => recordResponse(request, tx, body, importId),
  }
}
