import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import {
  type DeclaredSignature,
  parseCredential,
  parseSignedHeaders,
  parseTimestamp,
  signatureAlgorithm,
} from './signing-key.ts'

/**
 * Reads the Signature V4 in the Authorization header.
 *
 * Throws InvalidRequest if the scheme is not Signature V4, or if x-amz-content-sha256 is missing. Throws
 * AuthorizationHeaderMalformed if a part of the header is broken, and AccessDenied if the request has no date.
 */
export function readHeaderSignature(authorization: string, headers: RequestHeaders): DeclaredSignature {
  if (!authorization.startsWith(`${signatureAlgorithm} `)) {
    throw unsupportedMechanism()
  }
  const parts = parseParts(authorization.slice(signatureAlgorithm.length + 1))
  const part = (name: string) => parts.get(name) ?? ''
  const scope = parseCredential(part('Credential'))
  if (scope === undefined) throw malformed('the Credential is missing or broken')
  const signedHeaders = parseSignedHeaders(part('SignedHeaders'))
  if (signedHeaders === undefined) throw malformed('SignedHeaders is missing, not sorted, or without host')
  const signature = part('Signature')
  if (!/^[0-9a-f]{64}$/.test(signature)) throw malformed('the Signature is missing or broken')
  const { timestamp, signedAt } = readDate(headers)
  if (!timestamp.startsWith(scope.date)) throw malformed('the date of the Credential is not that of the request')
  const payloadHash = headers.get('x-amz-content-sha256')
  if (payloadHash === undefined) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256')
  }
  return { scope, timestamp, signedAt, validForS: undefined, signedHeaders, signature, payloadHash }
}

/** Creates the error for Signature V2 and for schemes that are not S3's. */
export function unsupportedMechanism(): S3Error {
  return new S3Error(
    'InvalidRequest',
    `The authorization mechanism is not supported. Please use ${signatureAlgorithm}.`,
  )
}

function parseParts(text: string): Map<string, string> {
  const parts = new Map<string, string>()
  for (const part of text.split(',')) {
    const [name = '', ...value] = part.trim().split('=')
    if (name === '' || parts.has(name)) throw malformed('a part is empty or occurs twice')
    parts.set(name, value.join('='))
  }
  return parts
}

/** Reads x-amz-date, or the Date header that older clients send. */
function readDate(headers: RequestHeaders): { timestamp: string; signedAt: number } {
  const amzDate = headers.get('x-amz-date')
  const signedAt = amzDate === undefined ? Date.parse(headers.get('date') ?? '') : parseTimestamp(amzDate)
  if (signedAt === undefined || Number.isNaN(signedAt)) {
    throw new S3Error('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header')
  }
  return { timestamp: amzDate ?? new Date(signedAt).toISOString().replace(/[-:]|\.\d{3}/g, ''), signedAt }
}

function malformed(reason: string): S3Error {
  return new S3Error('AuthorizationHeaderMalformed', `The authorization header is malformed: ${reason}.`)
}
