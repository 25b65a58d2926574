import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import { canonicalRequest } from './canonical-request.ts'
import { readHeaderSignature, unsupportedMechanism } from './header-auth.ts'
import { readQuerySignature } from './query-auth.ts'
import { checkSignature, createSigner, type DeclaredSignature, type Signer, signRequest } from './signing-key.ts'

/** The largest difference between the sender's clock and this one, as in S3. */
const maxSkewMs = 15 * 60 * 1000

/** The secret of an access key, and the identity of its owner, which the authorisation hook gets. */
interface Credentials<Identity> {
  secretAccessKey: string
  identity: Identity
}

/**
 * Looks up an access key by its ID, an untrusted text of at most 128 characters. Returns undefined if there is no such
 * key.
 */
export type FindCredentials<Identity> = (accessKeyId: string) => Promise<Credentials<Identity> | undefined>

/** The parts of a request that its signature covers. */
export interface SignedRequest {
  method: string
  rawPath: string
  query: ReadonlyMap<string, string>
  headers: RequestHeaders
}

/** The result of verifying a signature: the sender, and the data for verifying the body. */
export interface Authenticated<Identity> {
  identity: Identity
  signer: Signer
  signature: string
  payloadHash: string
}

/**
 * Verifies the Signature V4 of a request, in its headers or its query.
 *
 * Throws AccessDenied if the request has no signature, has expired, or has unsigned x-amz headers. Throws
 * RequestTimeTooSkewed, InvalidAccessKeyId or SignatureDoesNotMatch. Throws the errors of {@link readHeaderSignature}
 * and {@link readQuerySignature} if the form of the signature is broken.
 */
export async function authenticate<Identity>(
  request: SignedRequest,
  options: { findCredentials: FindCredentials<Identity>; region: string; now: Date },
): Promise<Authenticated<Identity>> {
  const declared = readSignature(request)
  checkRegion(declared, options.region)
  checkTime(declared, options.now)
  checkCoverage(declared, request.headers)
  const credentials = await options.findCredentials(declared.scope.accessKeyId)
  if (credentials === undefined) {
    throw new S3Error('InvalidAccessKeyId', 'The access key ID you provided does not exist in our records.')
  }
  const signer = createSigner(credentials.secretAccessKey, declared.scope, declared.timestamp)
  const { signedHeaders, payloadHash, signature } = declared
  checkSignature(signRequest(signer, canonicalRequest({ ...request, signedHeaders, payloadHash })), signature)
  return { identity: credentials.identity, signer, signature, payloadHash }
}

function readSignature({ headers, query }: SignedRequest): DeclaredSignature {
  const authorization = headers.get('authorization')
  const preSigned = query.has('X-Amz-Algorithm') || query.has('X-Amz-Signature')
  if (headers.has('x-amz-security-token') || query.has('X-Amz-Security-Token')) {
    throw new S3Error('InvalidToken', 'Session tokens are not supported.')
  }
  if (authorization !== undefined && preSigned) {
    throw new S3Error('InvalidArgument', 'Only one authentication mechanism is allowed.')
  }
  if (authorization !== undefined) return readHeaderSignature(authorization, headers)
  if (preSigned) return readQuerySignature(query, headers)
  if (query.has('AWSAccessKeyId')) throw unsupportedMechanism()
  throw new S3Error('AccessDenied', 'Anonymous access is not allowed.')
}

function checkRegion(declared: DeclaredSignature, region: string): void {
  if (declared.scope.region === region) return
  // Clients such as s3cmd read the correct region from this answer and try again.
  throw new S3Error(
    'AuthorizationHeaderMalformed',
    `The authorization is malformed; the region '${declared.scope.region}' is wrong; expecting '${region}'`,
    { fields: { Region: region } },
  )
}

function checkTime(declared: DeclaredSignature, now: Date): void {
  const ageMs = now.getTime() - declared.signedAt
  const tooOld = declared.validForS === undefined && ageMs > maxSkewMs
  if (tooOld || ageMs < -maxSkewMs) {
    throw new S3Error(
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
      { fields: { RequestTime: declared.timestamp, ServerTime: now.toISOString() } },
    )
  }
  if (declared.validForS !== undefined && ageMs > declared.validForS * 1000) {
    throw new S3Error('AccessDenied', 'Request has expired', {
      fields: { 'X-Amz-Expires': String(declared.validForS), ServerTime: now.toISOString() },
    })
  }
}

/**
 * Throws AccessDenied for unsigned x-amz headers. They can change what a request does, and others may have added them.
 */
function checkCoverage(declared: DeclaredSignature, headers: RequestHeaders): void {
  const unsigned = [...headers.keys()].filter((name) => {
    return name.startsWith('x-amz-') && !declared.signedHeaders.includes(name)
  })
  if (unsigned.length > 0) {
    throw new S3Error('AccessDenied', 'There were headers present in the request which were not signed', {
      fields: { HeadersNotSigned: unsigned.join(', ') },
    })
  }
}
