import { randomBytes } from 'node:crypto'
import { lockApp } from '@sluice/accounts'
import { limits } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { decrypt, type EncryptionKeys, encrypt, isCurrent } from '@sluice/encryption'

/** An access key without its secret. */
export interface AccessKey {
  accessKeyId: string
  createdAt: Date
  /** Accurate to about a minute; null if the key was never used. */
  lastUsedAt: Date | null
}

/** A new access key with its secret, which is shown only once. */
export interface NewAccessKey {
  accessKeyId: string
  secretAccessKey: string
}

/** The app already has the maximum number of access keys. */
export class TooManyAccessKeys extends Error {
  override readonly name = 'TooManyAccessKeys'

  constructor() {
    super(`an app can have at most ${limits.accessKeys} access keys: delete one that is not used any more`)
  }
}

/**
 * Creates an access key for an app's path in the bucket. Its secret cannot be read again later
 * (service.md, Authentication 5).
 *
 * Throws `UnknownApp` or {@link TooManyAccessKeys}.
 */
export async function createAccessKey(db: Database, keys: EncryptionKeys, appId: number): Promise<NewAccessKey> {
  // The app's ID keeps the lookup within the app's own rows. Some clients accept only capitals and digits.
  const accessKeyId = `SLC${appId}K${randomBytes(8).toString('hex').toUpperCase()}`
  const secretAccessKey = randomBytes(30).toString('base64url')
  await db.transaction().execute(async (tx) => {
    // The lock makes concurrent calls wait, so that together they cannot exceed the limit.
    await lockApp(tx, appId)
    const { rows } = await sql<{ count: number }>`
      select count(*) from access_keys where app_id = ${appId}`.execute(tx)
    if ((rows[0]?.count ?? 0) >= limits.accessKeys) throw new TooManyAccessKeys()
    await tx
      .insertInto('access_keys')
      .values({
        app_id: appId,
        access_key_id: accessKeyId,
        encrypted_secret: encrypt(keys, accessKeyId, secretAccessKey),
        last_used_at: null,
      })
      .execute()
  })
  return { accessKeyId, secretAccessKey }
}

/** Returns an app's access keys, newest first. */
export async function listAccessKeys(db: Database, appId: number): Promise<AccessKey[]> {
  const rows = await db
    .selectFrom('access_keys')
    .select(['access_key_id', 'created_at', 'last_used_at'])
    .where('app_id', '=', appId)
    .orderBy('created_at', 'desc')
    .orderBy('access_key_id')
    .execute()
  return rows.map((row) => ({
    accessKeyId: row.access_key_id,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }))
}

/**
 * Deletes an access key. Every process refuses its requests from now on, since keys are looked up per request. Returns
 * false if the app has no such key.
 */
export async function deleteAccessKey(db: Database, appId: number, accessKeyId: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('access_keys')
    .where('app_id', '=', appId)
    .where('access_key_id', '=', accessKeyId)
    .executeTakeFirst()
  return deleted.numDeletedRows > 0n
}

/**
 * Encrypts anew every secret that is not encrypted with the first key. Access keys then no longer need the other keys.
 *
 * Returns how many secrets it encrypted. Throws `CannotDecrypt` at the first secret whose key is missing.
 */
export async function reencryptSecrets(db: Database, keys: EncryptionKeys): Promise<number> {
  const rows = await db.selectFrom('access_keys').select(['app_id', 'access_key_id', 'encrypted_secret']).execute()
  const old = rows.filter((row) => !isCurrent(keys, row.encrypted_secret))
  for (const { app_id: appId, access_key_id: accessKeyId, encrypted_secret: encrypted } of old) {
    await db
      .updateTable('access_keys')
      .set({ encrypted_secret: encrypt(keys, accessKeyId, decrypt(keys, accessKeyId, encrypted)) })
      .where('app_id', '=', appId)
      .where('access_key_id', '=', accessKeyId)
      .where('encrypted_secret', '=', encrypted)
      .execute()
  }
  return old.length
}

/** Records that a key was used, at most once a minute. Frequent requests thus cause no further writes. */
export async function noteUse(db: Database, appId: number, accessKeyId: string): Promise<void> {
  await sql`
    update access_keys set last_used_at = now()
    where app_id = ${appId} and access_key_id = ${accessKeyId}
      and (last_used_at is null or last_used_at < now() - interval '1 minute')
  `.execute(db)
}
