import { type Database, prepared } from '@sluice/database'
import { decrypt, type EncryptionKeys } from '@sluice/encryption'
import { joinCalls } from '@sluice/joined-calls'

const form = /^SLC([1-9]\d{0,8})K[0-9A-F]{16}$/

/** Returns the app ID that the access key in an `Authorization` or a signed address names; undefined without a key. */
export function appOfSignedRequest(signed: string): number | undefined {
  const appId = /Credential=SLC([1-9]\d{0,8})K/.exec(signed)?.[1]
  return appId === undefined ? undefined : Number(appId)
}

/** The result of the lookup of an access key. */
export interface FoundAccessKey {
  appId: number
  secretAccessKey: string
}

/**
 * Opens the lookup of access keys by ID. Concurrent lookups share one query. The query always begins after the lookups,
 * so a key that was deleted before a lookup is never found.
 *
 * Returns a function that accepts untrusted text, and returns undefined if there is no such key. It throws
 * `CannotDecrypt` if `keys` lacks the key that encrypted the secret.
 */
export function accessKeyFinder(
  db: Database,
  keys: EncryptionKeys,
): (accessKeyId: string) => Promise<FoundAccessKey | undefined> {
  const encryptedSecret = joinCalls<string, Buffer | undefined>((_, ids) => encryptedSecrets(db, ids))
  return async (accessKeyId) => {
    const appId = form.exec(accessKeyId)?.[1]
    if (appId === undefined) return undefined
    const encrypted = await encryptedSecret('', accessKeyId)
    if (encrypted === undefined) return undefined
    return { appId: Number(appId), secretAccessKey: decrypt(keys, accessKeyId, encrypted) }
  }
}

/**
 * Returns the encrypted secret of each key, in order; undefined for a key that does not exist. The caller has checked
 * the form of the IDs.
 */
async function encryptedSecrets(db: Database, ids: readonly string[]): Promise<(Buffer | undefined)[]> {
  const appIds = ids.map((id) => Number(form.exec(id)?.[1]))
  const { rows } = await prepared<{ access_key_id: string; encrypted_secret: Buffer }>`
    select access_key_id, encrypted_secret from access_keys
    where app_id = any(${appIds}::integer[]) and access_key_id = any(${ids}::text[])
  `.execute(db)
  const secrets = new Map(rows.map((row) => [row.access_key_id, row.encrypted_secret]))
  return ids.map((id) => secrets.get(id))
}
