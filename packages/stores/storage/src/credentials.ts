import type { S3Client } from '@aws-sdk/client-s3'
import type { StorageSettings } from './storage-settings.ts'

/** A pre-signed address is worth sending to a client only if it is valid for at least this long. */
const leastValidMs = 30_000

/** A temporary credential expires so soon that an address signed with it would be useless. */
class CredentialExpires extends Error {
  override readonly name = 'CredentialExpires'
}

/**
 * Returns the keys of the settings as an option of the SDK (second-day.md §7, Storage). If the settings have no keys,
 * the option is empty, and the SDK looks for credentials itself: variables, profiles, web identities (IRSA), containers
 * and instances. Throws if one key is missing.
 */
export function configuredCredentials(settings: StorageSettings): {
  credentials?: { accessKeyId: string; secretAccessKey: string }
} {
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = settings
  if (accessKeyId === undefined && secretAccessKey === undefined) return {}
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new Error('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must both be set, or neither')
  return { credentials: { accessKeyId, secretAccessKey } }
}

/**
 * Returns how long an address that the client signs now may be valid, s: at most `validForMs`, and never longer than
 * the credential, since storage refuses the address when its credential has expired.
 *
 * Throws {@link CredentialExpires} if less than 30 s are left.
 */
export async function signedSeconds(client: S3Client, validForMs: number): Promise<number> {
  const { expiration } = await client.config.credentials()
  if (expiration === undefined) return validForMs / 1000
  const leftMs = expiration.getTime() - Date.now()
  if (leftMs < leastValidMs) throw new CredentialExpires(`the credential of storage expires in ${leftMs} ms`)
  return Math.floor(Math.min(validForMs, leftMs) / 1000)
}
