import {
  beginUploadInParts,
  findImportedFile,
  findUpload,
  finishUpload,
  forgetUpload,
  keepPartNames,
  keptPartNames,
  listUploads,
  pathOf,
  reservePart,
} from '@sluice/bucket-uploads'
import type { Database } from '@sluice/database'
import {
  checkDeclaredObject,
  checkPart,
  compareKeys,
  type DeclaredObject,
  type MultipartBackend,
  type NamedPart,
  type ObjectName,
  type PendingUpload,
  S3Error,
  type UploadsRequest,
} from '@sluice/s3-endpoint'
import { StorageRefusal } from '@sluice/storage'
import type { GatewayContext } from './context.ts'
import { countUpload, unlessTooManyWait } from './limits.ts'
import { withoutQuotes } from './objects.ts'
import { checkSize, fileOf, newFileOf, noSuchUpload, refuseSize, toS3Errors } from './refusals.ts'

/**
 * The largest number of parts of a file. A file of 1 GB has 205 parts of the smallest size. The endpoint reads a
 * list of 1,000 parts in less than 0.1 s, and serves no other request meanwhile.
 */
const maxParts = 1_000

type UploadInParts = NonNullable<Awaited<ReturnType<typeof findUpload>>>

/**
 * Creates the backend that passes uploads in parts on to storage. Clients get the ID of the future import as the upload
 * ID.
 */
export function multipartBackend(context: GatewayContext): MultipartBackend {
  const { db, storage } = context

  return {
    maxParts,
    create: async (name, metadata, plan) => {
      const { appId, fileName } = newFileOf(name)
      await countUpload(context, appId)
      const beginning = beginUploadInParts(context, appId, fileName, metadata, plan ?? null)
      return (await toS3Errors(unlessTooManyWait(beginning))).importId
    },
    putPart: async (name, uploadId, partNumber, body) => {
      checkSize(body.size)
      const upload = await findPending(db, name, uploadId)
      const { objectKey, storageUploadId, checksum } = upload
      checkPart(body, checksum ?? undefined)
      refuseSize(await reservePart(context, upload, partNumber, body.size))
      const sizedBody = { byteSize: body.size, chunks: context.paced(upload.appId, body.chunks) }
      const etag = withoutQuotes(await toS3Errors(storage.putPart(objectKey, storageUploadId, partNumber, sizedBody)))
      const { md5 } = body.digests()
      if (etag !== md5) await keepPartNames(db, upload, partNumber, { md5, etag })
      return md5
    },
    listParts: async (name, uploadId, page) => {
      const upload = await findPending(db, name, uploadId)
      const { objectKey, storageUploadId, checksum } = upload
      const { parts, isTruncated } = await toS3Errors(storage.pageOfParts(objectKey, storageUploadId, page))
      const kept = await keptPartNames(db, upload)
      const shown = parts.map(({ partNumber, byteSize, etag: quoted, modifiedAt }) => {
        const stored = withoutQuotes(quoted)
        const names = kept.get(partNumber)
        const etag = names?.etag === stored ? names.md5 : stored
        return { partNumber, size: byteSize, etag, modifiedAt }
      })
      return { parts: shown, isTruncated, plan: checksum ?? undefined }
    },
    complete: (name, uploadId, readParts, declared) => {
      const assemblePending = async (upload: UploadInParts) => assemble(context, upload, await readParts(), declared)
      return toS3Errors(complete(context, name, uploadId, { assemblePending, ...declared }))
    },
    abort: async (name, uploadId) => forgetUpload(context, await findPending(db, name, uploadId)),
    listUploads: (_bucket, request) => listPendingUploads(db, request),
  }
}

async function findPending(db: Database, name: ObjectName, uploadId: string): Promise<UploadInParts> {
  const { appId, fileName } = fileOf(name)
  const upload = await findUpload(db, appId, fileName, uploadId)
  if (upload === undefined) throw noSuchUpload()
  return upload
}

/**
 * Lists an app's uploads in parts that are neither completed nor aborted. The S3 endpoint has checked that the prefix
 * is in the sender's path (`uploads/<app>/`), so the app's ID is read from it.
 */
async function listPendingUploads(db: Database, { prefix, after, limit }: UploadsRequest): Promise<PendingUpload[]> {
  const { appId, fileName: namePrefix } = fileOf({ key: prefix })
  const path = pathOf(appId)
  const afterName = after.key.startsWith(path) ? after.key.slice(path.length) : ''
  if (afterName === '' && compareKeys(after.key, path) > 0) return []
  const afterUpload = { fileName: afterName, importId: after.uploadId }
  const uploads = await listUploads(db, appId, { namePrefix, after: afterUpload, limit })
  return uploads.map(({ importId, fileName, startedAt, checksum }) => {
    return { key: `${path}${fileName}`, uploadId: importId, startedAt, plan: checksum ?? undefined }
  })
}

/**
 * Completes an upload: storage makes the object, and its import is queued.
 *
 * A client that never got the answer repeats the request. The object, or even the import, may therefore already exist.
 */
async function complete(
  context: GatewayContext,
  name: ObjectName,
  uploadId: string,
  {
    assemblePending,
    accessKeyId,
  }: Pick<DeclaredObject, 'accessKeyId'> & {
    assemblePending: (upload: UploadInParts) => Promise<void>
  },
): Promise<string> {
  const { appId, fileName } = newFileOf(name)
  const upload = await findUpload(context.db, appId, fileName, uploadId)
  if (upload !== undefined) await assemblePending(upload)
  const origin = { kind: 'parts', ...(accessKeyId && { accessKeyId }) } as const
  const finished = upload && (await finishUpload(context, upload, origin))
  if (finished?.isNew) announceImport(context, { appId, importId: uploadId, byteSize: finished.byteSize })
  const file = finished ?? (await findImportedFile(context.db, appId, fileName, uploadId))
  if (file === undefined) throw noSuchUpload()
  return withoutQuotes(file.etag)
}

/** Logs that an upload became an import, and wakes a worker for it. */
export function announceImport(
  { log, wakeWorker }: GatewayContext,
  { appId, importId, byteSize }: { appId: number; importId: string; byteSize: number },
): void {
  log.info({ app_id: appId, import_id: importId, byte_size: byteSize }, 'bucket upload queued as an import')
  wakeWorker?.(appId)
}

/**
 * Makes storage assemble the object from its parts.
 *
 * Throws InvalidPart if storage does not have one of the parts, before the list is sent to storage. Throws
 * EntityTooLarge, and deletes the upload, if the parts together exceed the limit for a file.
 */
async function assemble(
  context: GatewayContext,
  upload: UploadInParts,
  parts: readonly NamedPart[],
  declared: DeclaredObject,
): Promise<void> {
  const { db, storage } = context
  const { objectKey, storageUploadId, checksum } = upload
  try {
    const stored = await storage.listParts(objectKey, storageUploadId)
    const sizes = new Map(stored.map(({ partNumber, byteSize }) => [partNumber, byteSize]))
    const missing = parts.find(({ partNumber }) => !sizes.has(partNumber))
    if (missing !== undefined) throw invalidPart(missing)
    const total = parts.reduce((sum, { partNumber }) => sum + (sizes.get(partNumber) ?? 0), 0)
    try {
      checkSize(total)
    } catch (error) {
      await forgetUpload(context, upload)
      throw error
    }
    await checkDeclaredObject(checksum ?? undefined, declared, parts, total)
    const kept = await keptPartNames(db, upload)
    const named = parts.map(({ partNumber, etag }) => {
      const names = kept.get(partNumber)
      return { partNumber, etag: `"${names?.md5 === etag ? names.etag : etag}"` }
    })
    await storage.completeParts(objectKey, storageUploadId, named)
  } catch (error) {
    if (!(await isAssembled(context, upload, error))) throw error
  }
}

/**
 * Returns whether the reason for a failure to assemble an upload may be that another request has completed it. Storage
 * may have shown a part of an upload that was being completed as missing.
 */
async function isAssembled({ storage }: GatewayContext, upload: UploadInParts, error: unknown): Promise<boolean> {
  if (!(error instanceof StorageRefusal || error instanceof S3Error)) return false
  // `finishUpload` checks whether the object exists.
  if (error.code === 'NoSuchUpload') return true
  return error.code === 'InvalidPart' && (await storage.stat(upload.objectKey)) !== undefined
}

function invalidPart({ partNumber }: NamedPart): S3Error {
  return new S3Error('InvalidPart', 'One or more of the specified parts could not be found.', {
    fields: { PartNumber: String(partNumber) },
  })
}
