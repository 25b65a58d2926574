import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import {
  type DeclaredSignature,
  parseCredential,
  parseSignedHeaders,
  parseTimestamp,
  signatureAlgorithm,
} from './signing-key.ts'

const maxValidityS = 7 * 24 * 60 * 60

/** The query parameters with the signature of a pre-signed address. All others belong to the operation. */
export const signatureParameters: ReadonlySet<string> = new Set([
  'X-Amz-Algorithm',
  'X-Amz-Content-Sha256',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Security-Token',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
])

/**
 * Reads the Signature V4 in the query of a pre-signed address.
 *
 * The body counts as unsigned unless the address or a header names its hash. Throws AuthorizationQueryParametersError
 * if a parameter is missing or broken.
 */
export function readQuerySignature(query: ReadonlyMap<string, string>, headers: RequestHeaders): DeclaredSignature {
  const parameter = (name: string) => query.get(name) ?? ''
  if (parameter('X-Amz-Algorithm') !== signatureAlgorithm)
    throw broken(`X-Amz-Algorithm only supports "${signatureAlgorithm}"`)
  const scope = parseCredential(parameter('X-Amz-Credential'))
  if (scope === undefined) throw broken('X-Amz-Credential is missing or broken')
  const signedHeaders = parseSignedHeaders(parameter('X-Amz-SignedHeaders'))
  if (signedHeaders === undefined) throw broken('X-Amz-SignedHeaders is missing, not sorted, or without host')
  const signature = parameter('X-Amz-Signature')
  if (!/^[0-9a-f]{64}$/.test(signature)) throw broken('X-Amz-Signature is missing or broken')
  const timestamp = parameter('X-Amz-Date')
  const signedAt = parseTimestamp(timestamp)
  if (signedAt === undefined) throw broken('X-Amz-Date must have the form YYYYMMDDTHHMMSSZ')
  if (!timestamp.startsWith(scope.date)) throw broken('the date of X-Amz-Credential is not that of X-Amz-Date')
  const expires = parameter('X-Amz-Expires')
  const validForS = /^\d{1,7}$/.test(expires) ? Number(expires) : 0
  if (validForS < 1 || validForS > maxValidityS) throw broken(`X-Amz-Expires must be from 1 to ${maxValidityS}`)
  const payloadHash = headers.get('x-amz-content-sha256') ?? query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD'
  return { scope, timestamp, signedAt, validForS, signedHeaders, signature, payloadHash }
}

function broken(reason: string): S3Error {
  return new S3Error('AuthorizationQueryParametersError', `The query is malformed: ${reason}.`)
}
