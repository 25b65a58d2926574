import type { Backend } from './backend.ts'
import { readBodyClaims } from './body/claims.ts'
import { openUpload } from './body/upload-body.ts'
import { S3Error } from './errors.ts'
import type { OperationContext, OperationName } from './operations/context.ts'
import { checkKnownHeaders } from './operations/known-headers.ts'
import { findRoute } from './operations/routes.ts'
import type { Answer } from './protocol/answer.ts'
import { answerPreflight } from './protocol/cors.ts'
import { checkHeaderValue, type RequestHeaders } from './protocol/headers.ts'
import { parseRequestTarget } from './protocol/request-target.ts'
import { type Authenticated, authenticate, type FindCredentials } from './signature/authenticate.ts'

/**
 * Decides whether a verified sender may do something. `key` is the object's; the prefix of a listing; or empty.
 *
 * It is asked once for each object that a request names: for both ends of a copy (GetObject and CopyObject), for each
 * key of a DeleteObjects (as DeleteObject), and for each bucket that a ListBuckets would show (as HeadBucket).
 */
export type Authorize<Identity> = (
  identity: Identity,
  operation: OperationName,
  bucket: string,
  key: string,
) => boolean | Promise<boolean>

/**
 * Admits an authorised request before its body is read, and returns what ends its admission. Throws SlowDown to refuse
 * it.
 */
export type Admit<Identity> = (identity: Identity, operation: OperationName) => () => void

/** What the S3 protocol is spoken over. */
export type S3Options<Identity> = {
  backend: Backend
  findCredentials: FindCredentials<Identity>
  /** Without it every verified sender may do everything; with it what this endpoint does not know is denied too. */
  authorize?: Authorize<Identity>
  /** Without it, every authorised request is admitted. */
  admit?: Admit<Identity>
  /** The region that signatures must name. */
  region: string
  /** Origins whose pages may use pre-signed addresses, exactly as browsers send them; none by default. */
  corsOrigins?: readonly string[]
  /** The clock that signatures are held against. */
  now?: () => Date
}

/** A request as the HTTP server hands it over. `openBody` gives the raw bytes and may be called once. */
export type RawRequest = {
  method: string
  url: string
  headers: RequestHeaders
  openBody: () => AsyncIterable<Buffer>
}

/**
 * Carries a request out, from its signature to its answer. Throws S3Error to refuse it.
 *
 * The order is that of trust: signature, then what is meant, then whether the sender may, and the body last.
 */
export async function handleRequest<Identity>(request: RawRequest, options: S3Options<Identity>): Promise<Answer> {
  if (request.method === 'OPTIONS') return answerPreflight(request.headers, options.corsOrigins ?? [])
  const target = parseRequestTarget(request.url)
  const now = options.now?.() ?? new Date()
  const { findCredentials, region, backend } = options
  const authenticated = await authenticate({ ...request, ...target }, { findCredentials, region, now })
  const headers = withQueryHeaders(request.headers, target.query)
  const { bucket, key, query } = target
  const copies = headers.has('x-amz-copy-source')
  const operation = findRoute({ method: request.method, bucket, key, query, copies })
  if (operation === undefined) {
    // What a sender may do is then a list, and what is not there is not on it.
    if (options.authorize !== undefined) throw accessDenied()
    throw new S3Error('NotImplemented', 'This operation is not implemented.')
  }
  checkKnownHeaders(operation.name, headers)
  const isAllowed: OperationContext['isAllowed'] = async (...asked) => {
    return options.authorize === undefined || (await options.authorize(authenticated.identity, ...asked))
  }
  if (!(await isAllowed(operation.name, bucket, key === '' ? (query.get('prefix') ?? '') : key))) {
    throw accessDenied()
  }
  const openBody: OperationContext['openBody'] = (describedBy = headers) => {
    return openVerifiedBody({ ...request, headers: describedBy }, authenticated)
  }
  const release = options.admit?.(authenticated.identity, operation.name)
  try {
    return await operation.run({ backend, region, bucket, key, query, headers, openBody, isAllowed })
  } finally {
    release?.()
  }
}

function accessDenied(): S3Error {
  return new S3Error('AccessDenied', 'Access Denied')
}

function openVerifiedBody<Identity>(request: RawRequest, { payloadHash, signer, signature }: Authenticated<Identity>) {
  // Read first: what is wrong with the headers is answered without taking the body in.
  const claims = readBodyClaims(request.headers, payloadHash)
  return openUpload(request.openBody(), claims, { signer, seed: signature })
}

/** A pre-signed address may carry x-amz headers as query parameters; those of the request itself go first. */
function withQueryHeaders(headers: RequestHeaders, query: ReadonlyMap<string, string>): RequestHeaders {
  const merged = new Map(headers)
  for (const [name, value] of query) {
    if (!/^x-amz-[a-z0-9._-]+$/.test(name) || merged.has(name)) continue
    checkHeaderValue(name, value)
    merged.set(name, value)
  }
  return merged
}
