import { createHmac, timingSafeEqual } from 'node:crypto'
import { S3Error } from '../errors.ts'
import { sha256Hex } from './canonical-request.ts'

/** The only accepted algorithm. */
export const signatureAlgorithm = 'AWS4-HMAC-SHA256'

/** The scope of a signature: the access key, the day and the region. */
export interface CredentialScope {
  accessKeyId: string
  date: string
  region: string
}

/** What a request states about its signature, in its headers or its query. It is not yet verified. */
export interface DeclaredSignature {
  scope: CredentialScope
  /** `YYYYMMDDTHHMMSSZ`. */
  timestamp: string
  /** Milliseconds since 1970. */
  signedAt: number
  /** How long a pre-signed address is valid after `signedAt`; undefined for a signature in the headers. */
  validForS: number | undefined
  /** Names in lower case, sorted. */
  signedHeaders: string[]
  /** 64 hex digits. */
  signature: string
  /** The body's SHA-256 in hex, or a name such as `UNSIGNED-PAYLOAD` for another form of body. */
  payloadHash: string
}

/**
 * A key for signing under one scope and time. `timestamp` is `YYYYMMDDTHHMMSSZ`.
 *
 * The key is derived from the secret and must never be logged.
 */
export interface Signer {
  timestamp: string
  scope: CredentialScope
  key: Buffer
}

/** Derives the signing key of a scope from the secret access key. */
export function createSigner(secretAccessKey: string, scope: CredentialScope, timestamp: string): Signer {
  const dateKey = hmac(`AWS4${secretAccessKey}`, scope.date)
  const key = hmac(hmac(hmac(dateKey, scope.region), 's3'), 'aws4_request')
  return { timestamp, scope, key }
}

/**
 * Signs lines under the signer's time and scope. Returns the signature in hex.
 *
 * `algorithm` is the first line: {@link signatureAlgorithm}, or its variant for chunks and trailers.
 */
export function sign(signer: Signer, algorithm: string, lines: string[]): string {
  const { date, region } = signer.scope
  const text = [algorithm, signer.timestamp, `${date}/${region}/s3/aws4_request`, ...lines].join('\n')
  return hmac(signer.key, text).toString('hex')
}

/** Signs a canonical request. Returns the signature in hex. */
export function signRequest(signer: Signer, canonicalRequest: string): string {
  return sign(signer, signatureAlgorithm, [sha256Hex(canonicalRequest)])
}

/**
 * Throws SignatureDoesNotMatch if the signatures differ. The time of the comparison does not reveal where they differ.
 */
export function checkSignature(expected: string, given: string): void {
  const expectedBytes = Buffer.from(expected)
  const givenBytes = Buffer.from(given)
  if (expectedBytes.length === givenBytes.length && timingSafeEqual(expectedBytes, givenBytes)) return
  throw new S3Error(
    'SignatureDoesNotMatch',
    'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
  )
}

/** Parses `accessKeyId/date/region/s3/aws4_request`. Returns undefined if the text has another form. */
export function parseCredential(text: string): CredentialScope | undefined {
  const found = /^([^\s/]{1,128})\/(\d{8})\/([a-z0-9-]{1,64})\/s3\/aws4_request$/.exec(text)
  const [, accessKeyId, date, region] = found ?? []
  if (accessKeyId === undefined || date === undefined || region === undefined) return undefined
  return { accessKeyId, date, region }
}

/** Parses the list of signed headers. Returns undefined unless it is in lower case, is sorted and includes host. */
export function parseSignedHeaders(text: string): string[] | undefined {
  const names = text.split(';')
  const wellFormed = names.every((name, index) => {
    const preceding = names[index - 1]
    return /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && (preceding === undefined || preceding < name)
  })
  return wellFormed && names.includes('host') ? names : undefined
}

/** Parses `YYYYMMDDTHHMMSSZ`. Returns milliseconds since 1970, or undefined if the text has another form. */
export function parseTimestamp(text: string): number | undefined {
  const found = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text)
  if (found === null) return undefined
  const [, year, month, day, hour, minute, second] = found
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(time) ? undefined : time
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
