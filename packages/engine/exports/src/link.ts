import { timingSafeEqual } from 'node:crypto'
import { parseFileToken } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { Storage } from '@sluice/storage'
import { exportKey } from './context.ts'

/**
 * Returns the link to an export's file. It works like the link to an error file (design.md §3, Error file;
 * second-day.md §3, Exports).
 */
export function exportFileUrl(apiUrl: string, exportId: string, secret: string): string {
  return `${apiUrl}/export_files/${exportId}.${secret}`
}

/**
 * Follows the token of a link to an export's file.
 *
 * Returns a storage URL that is valid for 5 minutes, `expired`, or `unknown` for a token that Sluice never issued.
 */
export async function followExportLink(
  db: Database,
  storage: Storage,
  token: string,
): Promise<{ url: string } | 'expired' | 'unknown'> {
  const parts = parseFileToken(token)
  if (parts === undefined) return 'unknown'
  const { id: exportId, secret } = parts
  const found = await db
    .selectFrom('exports')
    .select(['app_id', 'attempt', 'file_secret', 'files_removed_at'])
    .select(sql<boolean>`file_expires_at > now()`.as('is_valid'))
    .where('export_id', '=', exportId)
    .executeTakeFirst()
  if (found === undefined || found.file_secret === null) return 'unknown'
  if (!timingSafeEqual(Buffer.from(found.file_secret), Buffer.from(secret))) return 'unknown'
  if (!found.is_valid || found.files_removed_at !== null) return 'expired'
  const key = exportKey({ appId: found.app_id, exportId }, found.attempt)
  return { url: await storage.presignDownload(key, `export-${exportId}.csv.gz`, 'application/gzip') }
}
