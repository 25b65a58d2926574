import { createHash, randomBytes } from 'node:crypto'

/** Makes the secret of a link or a session: 256 random bits, in characters that a URL may contain. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns the form in which a secret is stored. Secrets are random, so a single SHA-256 cannot be reversed. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
