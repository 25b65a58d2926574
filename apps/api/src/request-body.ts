import type { IncomingMessage } from 'node:http'
import { limits } from '@sluice/contract'
import { continueBody } from '@sluice/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { lengthOf } from './bodies-in-flight.ts'
import { readJson } from './json/read.ts'
import { hashedBody } from './keyed-request.ts'
import { isEncoded, readMediaType } from './media-type.ts'

/** The body is not JSON in UTF-8, according to its Content-Type (service.md, Errors: 415). */
export class UnsupportedBody extends Error {
  override readonly name = 'UnsupportedBody'
}

/** The body is compressed, or encoded in another way. */
export class UnsupportedEncoding extends Error {
  override readonly name = 'UnsupportedEncoding'
}

/** The body has more than `limitBytes` bytes (service.md, Errors: 413). */
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
 * Parses the bodies of endpoints with `json`, and refuses bodies of any other type there. Leaves the bodies of
 * endpoints with `file` to their handlers, and drops any other body: clients send a Content-Type with every request. A
 * body is parsed only if the request passed authentication.
 *
 * A member called `__proto__` is data like any other member, because nothing copies the members of a body onto an
 * object.
 */
export function parseBodies(api: FastifyInstance): void {
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('*', async (request: FastifyRequest) => {
    const { holdBytes, keyed } = request
    const { bodyLimit, config } = request.routeOptions
    if (config.endpoint?.file !== undefined) return
    const json = config.endpoint?.json
    if (json === undefined || holdBytes === undefined) return dropBody(request)
    const media = readMediaType(request.headers['content-type'])
    if (media?.type !== 'application/json' || !media.isUtf8) throw new UnsupportedBody()
    if (isEncoded(request.headers)) throw new UnsupportedEncoding()
    const length = lengthOf(request)
    if (length === 0 && json.isOptional) return undefined
    if (length !== undefined && length > bodyLimit) throw new BodyTooLarge(bodyLimit)
    const chunks = streamBody(request.raw, bodyLimit)
    const body = hashedBody(request, length === undefined ? counted(chunks, holdBytes) : chunks)
    // If the response is stored, only the hash of the body is needed.
    if (keyed?.isRepetition === true && !keyed.isHandledAgain) return await drain(body)
    return await readJson(body, limits.jsonValues, json.keepsNumbers)
  })
}

/** Reads a body to its end, and drops it. */
export async function drain(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of chunks);
}

/** Counts each chunk of a body of unknown length as in flight. */
async function* counted(chunks: AsyncIterable<Buffer>, holdBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    holdBytes(chunk.length)
    yield chunk
  }
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
