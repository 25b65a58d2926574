/** Secrets in infra/compose.yaml, which runs without set-up. Everybody can read them there. */
const encryptionKey = Buffer.from('Zm9yIHRyeWluZyBpdCBvdXQsIG5vdGhpbmcgZWxzZSE=', 'base64')
const storageSecret = 'sluice-secret'

/** Whether a setting's value is, or contains, a secret that infra/compose.yaml publishes. */
export function isPublished(name: string, text: string): boolean {
  if (name === 'S3_SECRET_ACCESS_KEY') return text === storageSecret
  // The bytes are compared, since base64 has several spellings of the last byte.
  return (
    name === 'ENCRYPTION_KEYS' && text.split(',').some((key) => Buffer.from(key.trim(), 'base64').equals(encryptionKey))
  )
}
