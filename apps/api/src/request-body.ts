import type { IncomingMessage } from 'node:http'
import { limits } from '@sluice/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { lengthOf } from './bodies-in-flight.ts'
import { readJson } from './json/read.ts'
import { readMediaType } from './media-type.ts'

/** The body is not in the charset of JSON. */
export class UnsupportedCharset extends Error {
  override readonly name = 'UnsupportedCharset'
}

/** The body has more bytes than `limit`. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
  readonly limit: number

  constructor(limit: number) {
    super(`over ${limit} bytes`)
    this.limit = limit
  }
}

/** The connection ended before the body did. */
export class BodyCutOff extends Error {
  override readonly name = 'BodyCutOff'
}

/**
 * Has JSON bodies parsed, and bodies of any other type refused. A member called `__proto__` is data like any other:
 * nothing copies a body's members onto an object. A request that no authentication let through is not parsed.
 */
export function parseJsonBodies(api: FastifyInstance): void {
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const { holdBytes } = request
    if (holdBytes === undefined) return dropBody(request)
    if (readMediaType(request.headers['content-type'])?.isUtf8 !== true) throw new UnsupportedCharset()
    const { bodyLimit } = request.routeOptions
    const length = lengthOf(request)
    if (length !== undefined && length > bodyLimit) throw new BodyTooLarge(bodyLimit)
    const chunks = streamBody(request.raw, bodyLimit)
    return await readJson(length === undefined ? held(chunks, holdBytes) : chunks, limits.jsonValues)
  })
}

/** Counts each chunk of a body whose length nobody said. */
async function* held(chunks: AsyncIterable<Buffer>, holdBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    holdBytes(chunk.length)
    yield chunk
  }
}

/** Has bodies of any type dropped, for the routes of a scope that take none. */
export function ignoreBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (request, _body, done) => {
    dropBody(request)
    done(null)
  })
}

/**
 * The bytes of a body as they come, `limit` at most. Throws {@link BodyTooLarge} and {@link BodyCutOff}. The connection
 * stays open for the answer, also where the reading ends early.
 */
export async function* streamBody(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  let bytes = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > limit) throw new BodyTooLarge(limit)
      yield chunk
    }
  } catch (error) {
    throw error instanceof BodyTooLarge ? error : new BodyCutOff('the client broke off', { cause: error })
  }
}

/** Reads and drops what is left of a refused body, so that its sender comes to read the answer and not a reset. */
export function dropBody({ raw }: FastifyRequest): void {
  if (!raw.complete) raw.resume()
}
