import type { CredentialScope } from './signing-key.ts'

/** What a request claims about its signature, read from its headers or its query but not yet verified. */
export type SignatureClaim = {
  scope: CredentialScope
  /** `YYYYMMDDTHHMMSSZ`. */
  timestamp: string
  /** Milliseconds since 1970. */
  signedAt: number
  /** Seconds from `signedAt` for which a pre-signed address holds; undefined for a signature in the headers. */
  validForS: number | undefined
  /** Names in lower case, sorted. */
  signedHeaders: string[]
  /** 64 hex digits. */
  signature: string
  /** What the sender says of the body: a SHA-256 in hex, or one of the words of the streaming forms. */
  payloadHash: string
}
