import type { CredentialScope } from './signing-key.ts'

/** The claims of a request about its signature, from its headers or its query. They are not yet verified. */
export type SignatureClaim = {
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
