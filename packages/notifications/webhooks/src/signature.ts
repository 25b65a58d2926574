import { createHmac, randomBytes } from 'node:crypto'

const secretPrefix = 'whsec_'

/** Bytes of a secret (second-day.md §5, Endpoints). */
const secretBytes = 24

/** Creates the secret of an endpoint in the form of Standard Webhooks: `whsec_` and base64. */
export function makeSigningSecret(): string {
  return `${secretPrefix}${randomBytes(secretBytes).toString('base64')}`
}

/**
 * Returns the headers of Standard Webhooks for one attempt (second-day.md §5, Signature), with a signature by each
 * secret. A signature covers the ID, the time of the attempt (Unix, s) and the body, so that receivers can refuse old
 * requests.
 */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: string,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`
  })
  const timestamp = String(timestampSeconds)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
