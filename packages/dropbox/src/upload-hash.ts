import { createHash } from 'node:crypto'

/**
 * What tells a repeated request from a new one: its signature, which covers its time, and what it brought. A pre-signed
 * address has one signature for all that is sent to it, so the content counts as well.
 *
 * Takes the signature in hex and the MD5 of the content in hex.
 */
export function hashOfRequest(signature: string, md5: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(['request', signature, md5]))
    .digest()
}
