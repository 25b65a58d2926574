import { timingSafeEqual } from 'node:crypto'
import type { Readable } from 'node:stream'
import { parseFileToken } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { ObjectGone, type Storage } from '@sluice/storage'
import type { ImportId } from '../context.ts'
import type { ChunkFile } from './chunks.ts'

/** Of each file of an import: the path of its link, and the extension of its name. */
const links = {
  errors: { path: 'error_files', extension: 'csv' },
  changes: { path: 'changes_files', extension: 'csv.gz' },
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
    .select([`${ofKey} as key`, `${ofSecret} as secret`, 'files_removed_at', 'file_name'])
    .select(sql<boolean>`file_links_expire_at > now()`.as('valid'))
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (found?.key == null || found.secret === null) return 'unknown'
  if (!timingSafeEqual(Buffer.from(found.secret), Buffer.from(secret))) return 'unknown'
  if (!found.valid || found.files_removed_at !== null) return 'expired'
  return { url: await storage.presignDownload(found.key, savedName(file, importId, found.file_name)) }
}

/** Returns the name under which a file is saved: after the uploaded file, or after the import's ID. */
function savedName(file: ChunkFile, importId: string, uploaded: string | null): string {
  const name = uploaded?.replace(/\.gz$/i, '').replace(/\.csv$/i, '') ?? importId
  return `${file}-${name}.${links[file].extension}`
}

/** An error file that a person downloads. */
export interface ErrorFileDownload {
  fileName: string
  content: Readable
}

/** Without this byte order mark, Excel on Windows does not read a file as UTF-8. */
const byteOrderMark = Buffer.from('\ufeff')

/**
 * Opens an import's error file for a person. If all its bytes are UTF-8, it begins with a byte order mark, which an
 * import drops. The stored file, to which the link of the API leads, has none.
 *
 * Returns undefined if there is no error file, or if it was removed. The caller must read or destroy the content.
 */
export async function openErrorFile(
  { db, storage }: { db: Database; storage: Storage },
  { appId, importId }: ImportId,
): Promise<ErrorFileDownload | undefined> {
  const found = await db
    .selectFrom('imports')
    .select(['error_file_key', 'error_file_is_utf8', 'files_removed_at', 'file_name'])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (found?.error_file_key == null || found.files_removed_at !== null) return undefined
  try {
    const content = await storage.read(found.error_file_key)
    if (found.error_file_is_utf8) content.unshift(byteOrderMark)
    return { fileName: savedName('errors', importId, found.file_name), content }
  } catch (error) {
    if (error instanceof ObjectGone) return undefined
    throw error
  }
}
