import { createHash, randomBytes } from 'node:crypto'

/** What proves a link or a session: 256 random bits, in characters that an address may hold. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored of a secret. It is random, so one plain SHA-256 cannot be turned back. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
