import { type Database, sql } from '@sluice/database'
import { joinCalls } from '@sluice/joined-calls'
import { decrypt, type EncryptionKeys } from './encryption.ts'

const form = /^SLC([1-9]\d{0,8})K[0-9A-F]{16}$/

/** An access key as it is found for a request. */
export interface FoundAccessKey {
  appId: number
  secretAccessKey: string
}

/**
 * Opens the look-up of access keys by their IDs. Look-ups that are asked for at the same time share one query, which always
 * begins after they were asked for: a key that was deleted before is never found.
 *
 * Gives a function that finds the key; it takes untrusted text, and gives undefined where there is no such key. It throws
 * `CannotDecrypt` where the setting lacks the key that the secret is encrypted with.
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

/** The encrypted secret of each key, in order; undefined where there is no such key. The IDs have the right form. */
async function encryptedSecrets(db: Database, ids: readonly string[]): Promise<(Buffer | undefined)[]> {
  const appIds = ids.map((id) => Number(form.exec(id)?.[1]))
  const { rows } = await sql<{ access_key_id: string; encrypted_secret: Buffer }>`
    /* prepared */
    select access_key_id, encrypted_secret from access_keys
    where app_id = any(${appIds}::integer[]) and access_key_id = any(${ids}::text[])
  `.execute(db)
  const secrets = new Map(rows.map((row) => [row.access_key_id, row.encrypted_secret]))
  return ids.map((id) => secrets.get(id))
}
