import { timingSafeEqual } from 'node:crypto'
import { parseFileToken } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { Storage } from '@sluice/storage'

/**
 * Returns the link to an import's error file. It is valid for 7 days, or for `FILE_RETENTION_DAYS` if that is shorter,
 * whatever credentials storage uses (design.md §3, Error file).
 */
export function errorFileUrl(apiUrl: string, importId: string, secret: string): string {
  return `${apiUrl}/error_files/${importId}.${secret}`
}

/**
 * Follows the token of a link to an error file.
 *
 * Returns a storage URL that is valid for 5 minutes, `expired`, or `unknown` for a token that Sluice never issued.
 */
export async function followErrorLink(
  db: Database,
  storage: Storage,
  token: string,
): Promise<{ url: string } | 'expired' | 'unknown'> {
  const parts = parseFileToken(token)
  if (parts === undefined) return 'unknown'
  const { id: importId, secret } = parts
  const found = await db
    .selectFrom('imports')
    .select(['error_file_key', 'error_file_secret', 'files_removed_at'])
    .select(sql<boolean>`error_file_expires_at > now()`.as('valid'))
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (found?.error_file_key == null || found.error_file_secret === null) return 'unknown'
  if (!timingSafeEqual(Buffer.from(found.error_file_secret), Buffer.from(secret))) return 'unknown'
  if (!found.valid || found.files_removed_at !== null) return 'expired'
  return { url: await storage.presignDownload(found.error_file_key, `errors-${importId}.csv`) }
}
