import { timingSafeEqual } from 'node:crypto'
import { parseFileToken } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { Storage } from '@sluice/storage'
import type { ChunkFile } from './chunks.ts'

/** Of each file of an import: the path of its link, and the name under which it is saved. */
const links = {
  errors: { path: 'error_files', name: (id: string) => `errors-${id}.csv` },
  changes: { path: 'changes_files', name: (id: string) => `changes-${id}.csv.gz` },
} as const satisfies Record<ChunkFile, unknown>

/**
 * Returns the link to a file of an import. It is valid for 7 days, or for `FILE_RETENTION_DAYS` if that is shorter,
 * whatever credentials storage uses (design.md §3, Error file; changes.md §1, The changes file).
 */
export function fileUrl(apiUrl: string, file: ChunkFile, { importId, secret }: { importId: string; secret: string }) {
  return `${apiUrl}/${links[file].path}/${importId}.${secret}`
}

/**
 * Follows the token of a link to a file of an import.
 *
 * Returns a storage URL that is valid for 5 minutes, `expired`, or `unknown` for a token that Sluice never issued.
 */
export async function followFileLink(
  { db, storage }: { db: Database; storage: Storage },
  file: ChunkFile,
  token: string,
): Promise<{ url: string } | 'expired' | 'unknown'> {
  const parts = parseFileToken(token)
  if (parts === undefined) return 'unknown'
  const { id: importId, secret } = parts
  const [ofKey, ofSecret] =
    file === 'errors'
      ? (['error_file_key', 'error_file_secret'] as const)
      : (['changes_file_key', 'changes_file_secret'] as const)
  const found = await db
    .selectFrom('imports')
    .select([`${ofKey} as key`, `${ofSecret} as secret`, 'files_removed_at'])
    .select(sql<boolean>`file_links_expire_at > now()`.as('valid'))
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (found?.key == null || found.secret === null) return 'unknown'
  if (!timingSafeEqual(Buffer.from(found.secret), Buffer.from(secret))) return 'unknown'
  if (!found.valid || found.files_removed_at !== null) return 'expired'
  return { url: await storage.presignDownload(found.key, links[file].name(importId)) }
}
