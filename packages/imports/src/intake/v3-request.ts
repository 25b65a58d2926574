import { type ImportRequest, limits, type UploadDescriptor } from '@sluice/contract'
import { sql } from '@sluice/database'
import { requireTypes } from '@sluice/profiles'
import { inImportTrace } from '@sluice/traces'
import type { RequestContext } from '../context.ts'
import { uploadKey } from '../file/object-keys.ts'
import { optionValues } from '../options.ts'
import type { FirstState } from '../states.ts'
import { withinWaitingLimit } from './waiting-limit.ts'

/**
 * Inserts the import of a first request (bulk import v3), which settles its place in the import order. Signs the upload
 * address.
 *
 * Returns the import's ID and the upload descriptor (service.md, Bulk import v3, first request). Throws
 * `TooManyWaiting`, and `TypeConflict` if a declared key is registered with another type.
 */
export async function requestImport(
  { db, storage, settings }: RequestContext,
  appId: number,
  request: ImportRequest,
): Promise<{ importId: string; descriptor: UploadDescriptor }> {
  const importId = crypto.randomUUID()
  const objectKey = uploadKey(appId, importId)
  await requireTypes(db, appId, request.profile_types ?? {})
  const { checksum, byte_size: byteSize, content_type: contentType } = request
  const options = {
    profileTypes: request.profile_types,
    newKeys: request.new_keys,
    clearMarker: request.clear_marker,
  }
  const url = await storage.presignUpload(objectKey, { contentType, byteSize, checksum }, limits.uploadWindowMs)
  const values = {
    app_id: appId,
    import_id: importId,
    source: 'v3',
    state: 'awaiting_upload' satisfies FirstState,
    dry_run: request.dry_run,
    file_name: request.file_name ?? null,
    ...optionValues(appId, options),
    object_key: objectKey,
    content_type: contentType,
    byte_size: byteSize,
    checksum,
    upload_expires_at: sql<Date>`now() + make_interval(secs => ${limits.uploadWindowMs / 1000})`,
    upload_check_at: sql<Date>`now()`,
  } as const
  await inImportTrace('import requested', importId, () =>
    withinWaitingLimit(db, appId, settings.WAITING_IMPORTS_LIMIT, (tx) =>
      tx.insertInto('imports').values(values).execute(),
    ),
  )
  const headers = { 'Content-Type': contentType, 'Content-MD5': checksum }
  return { importId, descriptor: { direct_upload: { url, headers } } }
}
