import { type Database, sql } from '@sluice/database'
import { type EncryptionKeys, keyNameBytes, nameOf } from '@sluice/encryption'

interface Log {
  warn(about: object, text: string): void
}

/**
 * Logs a warning if none of the keys decrypts any of the access keys or of the webhook secrets in the database. Each
 * request or delivery would fail only when it needs its secret. An error of Postgres is left to the readiness of the
 * process.
 */
export async function warnOfForeignSecrets(db: Database, keys: EncryptionKeys, log: Log): Promise<void> {
  const kinds = await foreignSecrets(db, keys).catch(() => [])
  if (kinds.length === 0) return
  log.warn(
    { setting: 'ENCRYPTION_KEYS', secrets: kinds },
    `none of ENCRYPTION_KEYS decrypts the secrets of ${kinds.join(' and ')}: add the key that encrypted them; ` +
      'sluice access-keys reencrypt then replaces it',
  )
}

async function foreignSecrets(db: Database, keys: EncryptionKeys): Promise<string[]> {
  const isOurs = sql`substring(encrypted_secret for ${keyNameBytes}) = any(${keys.map(nameOf)}::bytea[])`
  const { rows } = await sql<{ kind: string }>`
    select 'access keys' as kind where exists (select from access_keys)
      and not exists (select from access_keys where ${isOurs})
    union all
    select 'webhooks' where exists (select from webhook_endpoints where removed_at is null)
      and not exists (select from webhook_endpoints where removed_at is null and ${isOurs})
  `.execute(db)
  return rows.map(({ kind }) => kind)
}
