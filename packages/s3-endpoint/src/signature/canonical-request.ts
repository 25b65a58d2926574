import { createHash } from 'node:crypto'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'

/** The parts of a request that Signature V4 covers. */
export interface SignedParts {
  method: string
  /** The unchanged path of the request line. */
  rawPath: string
  /** Decoded names and values. {@link canonicalRequest} leaves out the signature itself. */
  query: ReadonlyMap<string, string>
  headers: RequestHeaders
  /** Names in lower case, sorted. */
  signedHeaders: string[]
  /** The value of x-amz-content-sha256, or UNSIGNED-PAYLOAD. */
  payloadHash: string
}

/**
 * Writes a request in S3's canonical form of Signature V4: the path is encoded once and never normalised.
 *
 * Throws SignatureDoesNotMatch if a signed header is missing.
 */
export function canonicalRequest(parts: SignedParts): string {
  const headers = parts.signedHeaders.map((name) => {
    const value = parts.headers.get(name)
    if (value === undefined) {
      throw new S3Error('SignatureDoesNotMatch', `The signed header ${name} is missing.`)
    }
    // SDKs sign tabs as spaces.
    return `${name}:${value.trim().replace(/[ \t]+/g, ' ')}\n`
  })
  return [
    parts.method,
    canonicalPath(parts.rawPath),
    canonicalQuery(parts.query),
    headers.join(''),
    parts.signedHeaders.join(';'),
    parts.payloadHash,
  ].join('\n')
}

/** Computes the SHA-256 of bytes, or of a text in UTF-8. Returns it in hex. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** Encodes a text as Signature V4 does: all but unreserved characters become `%XX` in upper case. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => percent(character.charCodeAt(0)))
}

function canonicalPath(rawPath: string): string {
  // Clients escape different characters in the request line, so each character is converted to its canonical form.
  return rawPath.replace(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~/]/g, (part) => {
    const byte = part.length === 3 ? Number.parseInt(part.slice(1), 16) : part.charCodeAt(0)
    const character = String.fromCharCode(byte)
    return /[A-Za-z0-9\-._~/]/.test(character) ? character : percent(byte)
  })
}

function canonicalQuery(query: ReadonlyMap<string, string>): string {
  const parameters = [...query].filter(([name]) => name !== 'X-Amz-Signature')
  const encoded = parameters.map(([name, value]) => ({ name: encodeStrictly(name), value: encodeStrictly(value) }))
  // Names must be compared without the equals sign that follows them: "a" sorts before "a-b".
  encoded.sort((left, right) => (left.name < right.name ? -1 : 1))
  return encoded.map(({ name, value }) => `${name}=${value}`).join('&')
}

function percent(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}
