import type { Backend } from './backend.ts'
import { readDeclaredBody } from './body/declared.ts'
import { openUpload } from './body/upload-body.ts'
import { S3Error } from './errors.ts'
import type { OperationContext } from './operations/context.ts'
import { checkKnownHeaders, findRoute, type OperationName } from './operations/routes.ts'
import type { Answer } from './protocol/answer.ts'
import { checkHeaderValue, type RequestHeaders } from './protocol/headers.ts'
import { parseRequestTarget } from './protocol/request-target.ts'
import { type Authenticated, authenticate, type FindCredentials } from './signature/authenticate.ts'

/**
 * Decides whether a verified sender may use an operation. `key` is the object's key, the prefix of a listing, or empty.
 */
export type Authorize<Identity> = (
  identity: Identity,
  operation: OperationName,
  bucket: string,
  key: string,
) => boolean | Promise<boolean>

/**
 * Admits an authorised request before its body is read.
 *
 * Returns a function that ends the admission, if need be after a wait. It is called when the operation has ended and
 * its answer was sent. Throws SlowDown to refuse the request.
 */
export type Admit<Identity> = (identity: Identity, operation: OperationName) => Promise<() => void>

export interface S3Options<Identity> {
  backend: Backend
  findCredentials: FindCredentials<Identity>
  /**
   * If it is left out, every verified sender may use all operations. If it is set, unknown operations are denied, and
   * so are operations that name further objects, such as copies.
   */
  authorize?: Authorize<Identity>
  /** If it is left out, every authorised request is admitted. */
  admit?: Admit<Identity>
  /** The region that signatures must name. */
  region: string
  /** The clock for the verification of signatures. */
  now?: () => Date
}

/** A request as the HTTP server received it. */
export interface RawRequest {
  method: string
  url: string
  headers: RequestHeaders
  /** Returns the raw bytes of the body. May be called once. */
  openBody: () => AsyncIterable<Buffer>
  /** Calls the function when the client has taken the answer or has disconnected. */
  whenAnswered: (release: () => void) => void
}

/**
 * Handles a request. Returns its answer. Throws S3Error to refuse the request.
 *
 * It verifies the signature first, then finds the operation, then checks the sender's permission, and reads the body
 * last.
 */
export async function handleRequest<Identity>(request: RawRequest, options: S3Options<Identity>): Promise<Answer> {
  const target = parseRequestTarget(request.url)
  const { bucket, key, query } = target
  const { authorize, findCredentials, region, backend } = options
  const now = options.now?.() ?? new Date()
  const authenticated = await authenticate({ ...request, ...target }, { findCredentials, region, now })
  const { identity } = authenticated
  const headers = withQueryHeaders(request.headers, query)
  const route = findRoute(request.method, target, headers)
  // An authorisation hook decides by the name of an operation and of one object.
  if (authorize !== undefined && (route === undefined || route.namesOthers)) throw accessDenied()
  if (route === undefined) throw new S3Error('NotImplemented', 'This operation is not implemented.')
  checkKnownHeaders(route, headers)
  const isAllowed = await authorize?.(identity, route.name, bucket, key || (query.get('prefix') ?? ''))
  if (isAllowed === false) throw accessDenied()
  const openBody: OperationContext['openBody'] = (describedBy = headers) => {
    return openVerifiedBody({ ...request, headers: describedBy }, authenticated)
  }
  const release = await options.admit?.(identity, route.name)
  try {
    return await route.run({ backend, region, bucket, key, query, headers, openBody })
  } finally {
    // A listing takes memory until the client has read it.
    if (release !== undefined) request.whenAnswered(release)
  }
}

function accessDenied(): S3Error {
  return new S3Error('AccessDenied', 'Access Denied')
}

function openVerifiedBody<Identity>(request: RawRequest, { payloadHash, signer, signature }: Authenticated<Identity>) {
  // The headers are read first, so that broken headers are answered before the body is read.
  const declared = readDeclaredBody(request.headers, payloadHash)
  return openUpload(request.openBody(), declared, { signer, seed: signature })
}

/**
 * Adds the x-amz headers that a pre-signed address has as query parameters. The request's own headers take precedence.
 */
function withQueryHeaders(headers: RequestHeaders, query: ReadonlyMap<string, string>): RequestHeaders {
  const merged = new Map(headers)
  for (const [name, value] of query) {
    if (!/^x-amz-[a-z0-9._-]+$/.test(name) || merged.has(name)) continue
    checkHeaderValue(name, value)
    merged.set(name, value)
  }
  return merged
}
