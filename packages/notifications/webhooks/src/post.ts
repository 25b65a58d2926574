import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIPv6, type LookupFunction } from 'node:net'

/** A request of one attempt. */
export interface Post {
  url: URL
  /** The checked addresses of the host. The connection uses no others. */
  addresses: readonly string[]
  headers: Record<string, string>
  body: string
  /** Certificate authorities in PEM that replace those of Node; for tests. */
  ca?: string | undefined
  /** Ends the request, whatever its state. */
  signal: AbortSignal
}

/**
 * Maximum bytes of an answer, which are read and dropped. Ordinary receivers can finish sending; beyond this, the
 * connection is closed.
 */
const maxAnswerBytes = 16_384

/** Maximum wait for the end of an answer, ms. */
const endTimeoutMs = 1_000

/** What counts of an answer. */
export interface PostAnswer {
  status: number
  /** How long the receiver asks to wait, s; undefined if it does not say. */
  retryAfterSeconds: number | undefined
}

/**
 * Sends a body by POST over a new connection. Certificates are always checked, and redirects are not followed.
 *
 * Returns the answer as soon as its headers have come. Throws the error of the connection, or the reason
 * of the signal.
 */
export async function post({ url, addresses, headers, body, ca, signal }: Post): Promise<PostAnswer> {
  signal.throwIfAborted()
  const answered = Promise.withResolvers<PostAnswer>()
  const options: RequestOptions & { ca?: string } = {
    method: 'POST',
    // A pooled connection could lead to an address of an earlier lookup.
    agent: false,
    lookup: pinned(addresses),
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    signal,
    ...(ca !== undefined && { ca }),
  }
  const sent =
    url.protocol === 'https:' ? httpsRequest(url, { ...options, rejectUnauthorized: true }) : httpRequest(url, options)
  sent.on('response', (answer) => {
    answered.resolve({ status: answer.statusCode ?? 0, retryAfterSeconds: retryAfterOf(answer) })
    drop(answer)
  })
  sent.on('error', (error) => answered.reject(signal.aborted ? signal.reason : error))
  sent.on('close', () => answered.reject(new Error('the connection ended without an answer')))
  sent.end(body)
  return await answered.promise
}

/** Reads `Retry-After`: seconds, or a date. */
function retryAfterOf({ headers }: IncomingMessage): number | undefined {
  const text = headers['retry-after'] ?? ''
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

/** Makes a connection use these addresses, whatever a name server answers meanwhile. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_host, options, callback) => {
    if (options.all) return callback(null, all)
    const [first] = all
    if (first === undefined) return callback(new Error('the host has no address'), '')
    callback(null, first.address, first.family)
  }
}

/** Reads the beginning of an answer's body, and then closes the connection. */
function drop(answer: IncomingMessage): void {
  let bytes = 0
  const timer = setTimeout(() => answer.destroy(), endTimeoutMs)
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) answer.destroy()
  })
  answer.on('error', () => {}) // the status is all that counts
  answer.on('close', () => clearTimeout(timer))
}
