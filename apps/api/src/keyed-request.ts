import { createHash, type Hash } from 'node:crypto'
import type { Database } from '@sluice/database'
import { completeKey, type FoundKey } from '@sluice/idempotency'
import type { FastifyRequest } from 'fastify'

export class KeyedRequest {
  /** The result of the lookup of the key; `invalid` if the header is not a valid key. */
  readonly found: FoundKey | { outcome: 'invalid' }
  readonly #hash: Hash = createHash('sha256')
  #bodyHash: Buffer | undefined
  stopRenewing: () => void = () => {}

  /** The parameters of the path are hashed like the body: a request about another import is another request. */
  constructor(found: KeyedRequest['found'], params: unknown = {}) {
    this.found = found
    for (const value of Object.values(Object(params))) this.#hash.update(`${value}\n`)
  }

  /** SHA-256 of the path's parameters and of the body (second-day.md §4, Keys); undefined until the body was read. */
  get bodyHash(): Buffer | undefined {
    return this.#bodyHash
  }

  /** The request repeats one that is stored or in flight, so it does not count against the rate limit. */
  get isRepetition(): boolean {
    return this.found.outcome === 'stored' || this.found.outcome === 'in flight'
  }

  /** The response was too long to be stored, so the request is handled again. */
  get isHandledAgain(): boolean {
    return this.found.outcome === 'stored' && this.found.response.body === null
  }

  /** The body itself is refused, so the request would be refused again, whatever else happens. */
  isRefused = false

  /** The route has stored the response in the transaction of its effect. That transaction may have failed since. */
  isRecorded = false

  /** Notes that the request has no body. Does nothing if a body was read. */
  hashNothing(): void {
    this.#bodyHash ??= this.#hash.digest()
  }

  /** Returns the chunks of the body, and hashes them as they pass. */
  async *hashed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk)
      yield chunk
    }
    this.#bodyHash = this.#hash.digest()
  }
}

/** Returns the chunks of a request's body. If the request has an idempotency key, its body is hashed meanwhile. */
export function hashedBody({ keyed }: FastifyRequest, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return keyed === undefined ? chunks : keyed.hashed(chunks)
}

/**
 * Stores the response to a request that succeeds, in the transaction of its effect. Does nothing without an idempotency
 * key. Throws `KeyClaimLost`.
 */
export async function recordResponse(
  { keyed, routeOptions: { config } }: FastifyRequest,
  tx: Database,
  body: unknown,
  importId: string | null = null,
): Promise<void> {
  if (keyed?.found.outcome !== 'claimed') return
  const { bodyHash: requestHash } = keyed
  if (requestHash === undefined) throw new Error('the body was not read to its end')
  const status = config.endpoint?.answer.status ?? 200
  await completeKey(tx, keyed.found.claim, { status, body: JSON.stringify(body), requestHash, importId })
  keyed.isRecorded = true
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the route accepts an idempotency key and the request has one. */
    keyed?: KeyedRequest
  }
}
