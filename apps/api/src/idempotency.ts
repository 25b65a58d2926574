import { errors, isIdempotencyKey, limits } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { claimKey, completeKey, type KeyClaim, keyLeaseMs, releaseKey, renewKey } from '@sluice/idempotency'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answer } from './answers.ts'
import { appOf } from './authentication.ts'
import type { ApiContext } from './context.ts'
import { KeyedRequest } from './keyed-request.ts'
import { drain, streamBody } from './request-body.ts'

/** Number of times that a claim is renewed during one lease. */
const renewals = 3

/**
 * Maximum number of characters of a body that is kept if the response can be made again. Otherwise one app could store
 * gigabytes an hour, for a day.
 */
const longestKeptBody = 1_024

/**
 * Makes endpoints with `idempotency` accept the header `Idempotency-Key` (second-day.md §4, Keys).
 *
 * 1. After authentication, `claimKeyOf` claims the key. A key that is stored or in flight does not count against the
 *    limit.
 * 2. Before the body is read, an invalid key and a key in flight are refused.
 * 3. After the body was read, a repetition gets the stored response, or 422 if its body or path differs. A long refusal
 *    of the body, or a long response of a repeatable route, is made again instead of being stored.
 * 4. Before the response is sent, it is stored, unless the route has stored it with its effect (`recordResponse`).
 */
export function acceptIdempotencyKeys(api: FastifyInstance, context: ApiContext): void {
  const { db, log } = context
  api.decorateRequest('keyed')
  api.addHook('preParsing', async (request, reply) => {
    const outcome = request.keyed?.found.outcome
    if (outcome === 'invalid') return answer(reply, errors.invalidIdempotencyKey())
    if (outcome === 'in flight') return answer(reply, errors.idempotencyKeyInFlight())
  })
  api.addHook('preHandler', (request, reply) => replay(context, request, reply))
  api.addHook('onSend', async (request, reply, payload) => {
    const { keyed } = request
    if (keyed?.found.outcome === 'stored' && keyed.found.response.status === reply.statusCode) {
      reply.header('Idempotency-Replayed', 'true')
    }
    await completeOrReleaseKey(db, request, reply, payload).catch((error: unknown) => {
      // No response is stored, so the claim ends with its lease. A later repetition is handled like a new request.
      log.warn({ err: error, request_id: request.id }, 'response not kept for its idempotency key')
    })
  })
}

/** Returns the hook that claims the idempotency key of a request to the function `name`. */
export function claimKeyOf(name: string, db: Database) {
  return async (request: FastifyRequest): Promise<void> => {
    const key = request.headers['idempotency-key']
    if (key === undefined) return
    if (typeof key !== 'string' || !isIdempotencyKey(key)) {
      request.keyed = new KeyedRequest({ outcome: 'invalid' })
      return
    }
    const found = await claimKey(db, { appId: appOf(request), function: name, key })
    request.keyed = new KeyedRequest(found, request.params)
    if (found.outcome === 'claimed') request.keyed.stopRenewing = renewing(db, found.claim)
  }
}

/** Renews a claim until the returned function is called, or the claim is lost. */
function renewing(db: Database, claim: KeyClaim): () => void {
  const stop = () => clearInterval(timer)
  const renew = async () => {
    // If Postgres does not answer, the next renewal may reach it in time.
    if (!(await renewKey(db, claim).catch(() => true))) stop()
  }
  const timer = setInterval(renew, keyLeaseMs / renewals)
  timer.unref()
  return stop
}

/** Completes the hash of a request without a body, and answers a repetition with the stored response. */
async function replay(
  context: ApiContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const { keyed } = request
  const { endpoint } = request.routeOptions.config
  if (endpoint?.json?.isOptional && request.body === undefined) keyed?.hashNothing()
  if (keyed?.found.outcome !== 'stored') return undefined
  if (endpoint?.file !== undefined) await drain(keyed.hashed(streamBody(request.raw, limits.uploadBytesV2)))
  const { status, body, requestHash, importId } = keyed.found.response
  if (keyed.bodyHash?.equals(requestHash) !== true) return answer(reply, errors.idempotencyKeyReused())
  if (body === null) return undefined
  const fresh =
    importId === null ? undefined : await endpoint?.idempotency?.refresh?.(context, appOf(request), importId)
  if (importId !== null) reply.header('X-Import-Id', importId)
  reply.code(status).type('application/json; charset=utf-8')
  return reply.send(fresh === undefined ? body : JSON.stringify(fresh))
}

/**
 * Whether handling the request again gives the same response: its body is refused, or its endpoint is repeatable. Other
 * refusals depend on what is stored, and the request might have an effect the next time. They have at most
 * `limits.messagesPerAnswer` names, and their endpoints have low rates.
 */
function canBeMadeAgain({ keyed, routeOptions: { config } }: FastifyRequest): boolean {
  return keyed?.isRefused === true || config.endpoint?.idempotency?.isRepeatable === true
}

/** Stores a response. Releases the key instead if the status is 5xx or 429, or if the body was not read to its end. */
async function completeOrReleaseKey(
  db: Database,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<void> {
  const { keyed } = request
  if (keyed?.found.outcome !== 'claimed') return
  keyed.stopRenewing()
  const { claim } = keyed.found
  const { statusCode: status } = reply
  if (keyed.isRecorded && status < 400) return
  const { bodyHash: requestHash } = keyed
  // second-day.md §4, Keys.
  const isKept = status < 500 && status !== 429 && requestHash !== undefined && typeof payload === 'string'
  if (!isKept) return await releaseKey(db, claim)
  const body = payload.length > longestKeptBody && canBeMadeAgain(request) ? null : payload
  await completeKey(db, claim, { status, body, requestHash, importId: null })
}
