import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { canonicalRequest, sha256Hex } from '../signature/canonical-request.ts'
import { createSigner, signRequest } from '../signature/signing-key.ts'

/** The access key and the region of requests that name none. */
export const testCredentials = { accessKeyId: 'AKIDTEST', secretAccessKey: 'test-secret/+key' }
export const testRegion = 'us-east-1'

/** A request without an SDK. Every part of it can be wrong. */
export interface RawRequest {
  method?: string
  /** The path with the query, as in the request line. */
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** The value of x-amz-content-sha256; the body's hash by default. */
  payloadHash?: string
  signedAt?: Date
  accessKeyId?: string
  secretAccessKey?: string
  region?: string
  /** Headers that are sent but not signed. */
  unsigned?: OutgoingHttpHeaders
}

/** An answer. `code` is the code in the document of an error. */
export interface RawAnswer {
  status: number
  headers: IncomingMessage['headers']
  text: string
  code: string | undefined
}

/** Signs and sends a request. Returns the answer, even if it is an error. */
export async function send(url: string, options: RawRequest): Promise<RawAnswer> {
  const request = begin(url, options)
  request.end(options.body)
  return answerOf(request)
}

/** Signs a request and sends its headers; the caller sends the body. */
export function begin(url: string, options: RawRequest): ClientRequest {
  const { hostname, port } = new URL(url)
  const { method = 'GET', path } = options
  const headers = { ...signedHeaders(url, options), ...options.unsigned }
  return httpRequest({ hostname, port, method, path, headers, agent: false })
}

/** Waits for the answer to a request that was begun. */
export async function answerOf(request: ClientRequest): Promise<RawAnswer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  const body = await text(response)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: body,
    code: /<Code>(\w+)<\/Code>/.exec(body)?.[1],
  }
}

function signedHeaders(url: string, options: RawRequest): Record<string, string> {
  const body = options.body ?? ''
  const timestamp = (options.signedAt ?? new Date()).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const payloadHash = options.payloadHash ?? sha256Hex(body)
  const length = { 'content-length': String(Buffer.byteLength(body)) }
  const headers: Record<string, string> = {
    host: new URL(url).host,
    'x-amz-date': timestamp,
    'x-amz-content-sha256': payloadHash,
    ...(options.body === undefined ? {} : length),
    ...options.headers,
  }
  const names = Object.keys(headers).sort()
  const scope = {
    accessKeyId: options.accessKeyId ?? testCredentials.accessKeyId,
    date: timestamp.slice(0, 8),
    region: options.region ?? testRegion,
  }
  const signer = createSigner(options.secretAccessKey ?? testCredentials.secretAccessKey, scope, timestamp)
  const [rawPath = '', search = ''] = options.path.split('?')
  const query = new Map(new URLSearchParams(search))
  const signature = signRequest(
    signer,
    canonicalRequest({
      method: options.method ?? 'GET',
      rawPath,
      query,
      headers: new Map(Object.entries(headers)),
      signedHeaders: names,
      payloadHash,
    }),
  )
  const credential = `${scope.accessKeyId}/${scope.date}/${scope.region}/s3/aws4_request`
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...headers, authorization }
}
