import type { IncomingMessage } from 'node:http'
import { limits } from '@sluice/contract'
import { continueBody } from '@sluice/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { lengthOf } from './bodies-in-flight.ts'
import { readJson } from './json/read.ts'
import { hashedBody } from './keyed-request.ts'
import { isEncoded, readMediaType } from './media-type.ts'

/** The body's charset is not UTF-8, the charset of JSON. */
export class UnsupportedCharset extends Error {
  override readonly name = 'UnsupportedCharset'
}

/** The body is compressed, or encoded in another way. */
export class UnsupportedEncoding extends Error {
  override readonly name = 'UnsupportedEncoding'
}

/** The body has more than `limitBytes` bytes. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
  readonly limitBytes: number

  constructor(limitBytes: number) {
    super(`over ${limitBytes} bytes`)
    this.limitBytes = limitBytes
  }
}

/** The connection ended before the body did. */
export class BodyCutOff extends Error {
  override readonly name = 'BodyCutOff'
}

/**
 * Parses JSON bodies and refuses bodies of any other type. A body is parsed only if the request passed authentication.
 *
 * A member called `__proto__` is data like any other member, because nothing copies the members of a body onto an
 * object.
 */
export function parseJsonBodies(api: FastifyInstance): void {
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const { holdBytes } = request
    if (holdBytes === undefined) return dropBody(request)
    if (readMediaType(request.headers['content-type'])?.isUtf8 !== true) throw new UnsupportedCharset()
    if (isEncoded(request.headers)) throw new UnsupportedEncoding()
    const { bodyLimit, config } = request.routeOptions
    const length = lengthOf(request)
    if (length !== undefined && length > bodyLimit) throw new BodyTooLarge(bodyLimit)
    const chunks = streamBody(request.raw, bodyLimit)
    const body = hashedBody(request, length === undefined ? held(chunks, holdBytes) : chunks)
    const { keyed } = request
    if (keyed === undefined) return await readJson(body, limits.jsonValues, config.keepsNumbers)
    // If the response is stored, only the hash of the body is needed.
    return keyed.isRepetition && !keyed.isHandledAgain
      ? await drain(body)
      : await readWhole(body, (chunks) => readJson(chunks, limits.jsonValues, config.keepsNumbers))
  })
}

/** Parses a body and reads it to its end, even if parsing fails earlier: an idempotency key needs its hash. */
async function readWhole<Parsed>(
  body: AsyncIterable<Buffer>,
  parse: (chunks: AsyncIterable<Buffer>) => Promise<Parsed>,
): Promise<Parsed> {
  const iterator = body[Symbol.asyncIterator]()
  // This iterator has no `return`, so a parser that stops early does not end the body.
  const chunks = { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) }
  try {
    return await parse(chunks)
  } finally {
    await drain(chunks).catch(() => {}) // the parser has thrown the same error
  }
}

/** Reads a body to its end, and drops it. */
export async function drain(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of chunks);
}

/** Counts each chunk of a body of unknown length as in flight. */
async function* held(chunks: AsyncIterable<Buffer>, holdBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    holdBytes(chunk.length)
    yield chunk
  }
}

/** Drops bodies of any type, for the routes of a scope that do not need a body. */
export function ignoreBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (request, _body, done) => {
    dropBody(request)
    done(null)
  })
}

/**
 * Returns the bytes of a body as they arrive. The connection stays open for the answer, even if reading ends early.
 *
 * Throws {@link BodyTooLarge} after `limitBytes` bytes. Throws {@link BodyCutOff} if the client breaks the connection.
 */
export async function* streamBody(request: IncomingMessage, limitBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0
  continueBody(request)
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > limitBytes) throw new BodyTooLarge(limitBytes)
      yield chunk
    }
  } catch (error) {
    throw error instanceof BodyTooLarge ? error : new BodyCutOff('the client broke off', { cause: error })
  }
}

/** Reads and drops the rest of a refused body. Otherwise the sender would see a reset instead of the answer. */
export function dropBody({ raw }: FastifyRequest): void {
  if (!raw.complete) raw.resume()
}
