import { type ImportRequest, limits, type UploadDescriptor } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { requireTypes } from '@sluice/profiles'
import type { UploadTerms } from '@sluice/storage'
import { inImportTrace } from '@sluice/traces'
import type { RequestContext } from '../context.ts'
import { uploadKey } from '../file/object-keys.ts'
import { optionValues } from '../options.ts'
import type { FirstState } from '../states.ts'
import { withinWaitingLimit } from './waiting-limit.ts'

/** An import whose upload is awaited. */
export interface RequestedImport {
  importId: string
  descriptor: UploadDescriptor
}

/** What a first request asks for, and who sent it. */
interface FirstRequest extends ImportRequest {
  requestedBy?: string
}

/**
 * Inserts the import of a first request (bulk import v3), which decides its place in the import order. Signs the upload
 * address.
 *
 * Runs `alsoCommit` in the transaction that inserts the import. Returns the import's ID and the upload descriptor
 * (service.md, Endpoints 3; service.md, Upload descriptor). Throws `TooManyWaiting`, and `TypeConflict` if a declared
 * key is registered with another type.
 */
export async function requestImport(
  { db, storage, settings }: RequestContext,
  appId: number,
  request: FirstRequest,
  alsoCommit: (tx: Database, requested: RequestedImport) => Promise<void> | undefined = () => undefined,
): Promise<RequestedImport> {
  const importId = crypto.randomUUID()
  const objectKey = uploadKey(appId, importId)
  await requireTypes(db, appId, request.profile_types ?? {})
  const { checksum, byte_size: byteSize, content_type: contentType } = request
  const options = {
    profileTypes: request.profile_types,
    newKeys: request.new_keys,
    clearMarker: request.clear_marker,
    keepChanges: request.keep_changes,
    holdIf: request.hold_if,
  }
  const terms = { contentType, byteSize, checksum }
  const url = await storage.presignUpload(objectKey, terms, limits.uploadWindowMs)
  const requested = { importId, descriptor: descriptorOf(url, terms) }
  const values = {
    app_id: appId,
    import_id: importId,
    source: 'v3',
    state: 'awaiting_upload' satisfies FirstState,
    dry_run: request.dry_run,
    file_name: request.file_name ?? null,
    requested_by: request.requestedBy ?? null,
    ...optionValues(appId, options),
    object_key: objectKey,
    content_type: contentType,
    byte_size: byteSize,
    checksum,
    upload_expires_at: sql<Date>`now() + make_interval(secs => ${limits.uploadWindowMs / 1000})`,
    upload_check_at: sql<Date>`now()`,
  } as const
  await inImportTrace('import requested', importId, () =>
    withinWaitingLimit(db, appId, settings.WAITING_IMPORTS_LIMIT, async (tx) => {
      await tx.insertInto('imports').values(values).execute()
      await alsoCommit(tx, requested)
    }),
  )
  return requested
}

function descriptorOf(url: string, { contentType, checksum }: UploadTerms): UploadDescriptor {
  return { direct_upload: { url, headers: { 'Content-Type': contentType, 'Content-MD5': checksum } } }
}

/**
 * Signs a new upload address for an import of v3 whose upload is still awaited (second-day.md §4, Keys), and prolongs
 * its upload window. Returns undefined for any other import.
 */
export async function renewUpload(
  { db, storage }: Pick<RequestContext, 'db' | 'storage'>,
  appId: number,
  importId: string,
): Promise<UploadDescriptor | undefined> {
  const row = await db
    .updateTable('imports')
    .set({ upload_expires_at: sql<Date>`now() + make_interval(secs => ${limits.uploadWindowMs / 1000})` })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('state', '=', 'awaiting_upload')
    .where('source', '=', 'v3')
    .returning(['object_key', 'content_type', 'byte_size', 'checksum'])
    .executeTakeFirst()
  if (row === undefined || row.byte_size === null || row.checksum === null) return undefined
  const terms = { contentType: row.content_type, byteSize: row.byte_size, checksum: row.checksum }
  return descriptorOf(await storage.presignUpload(row.object_key, terms, limits.uploadWindowMs), terms)
}
