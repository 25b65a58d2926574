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
  checkClaim,
  checkClaimedSize,
  compareKeys,
  compositeChecksum,
  type MultipartBackend,
  type NamedPart,
  type ObjectClaims,
  type ObjectInfo,
  type ObjectName,
  type PendingUpload,
  planAtEnd,
  S3Error,
  type UploadsRequest,
} from '@sluice/s3-endpoint'
import { StorageRefusal } from '@sluice/storage'
import type { RelayContext } from './context.ts'
import { countUpload, unlessTooManyWait } from './limits.ts'
import { infoOf, withoutQuotes } from './objects.ts'
import { checkSize, fileOf, newFileOf, noSuchUpload, refuseCondition, refuseSize, toS3Errors } from './refusals.ts'

type UploadInParts = NonNullable<Awaited<ReturnType<typeof findUpload>>>

/**
 * Creates the backend that relays uploads in parts to storage. Clients get the ID of the future import as the upload
 * ID.
 */
export function relayMultipart(context: RelayContext): MultipartBackend {
  const { db, relay } = context

  async function find(name: ObjectName, uploadId: string): Promise<UploadInParts> {
    const { appId, fileName } = fileOf(name)
    const upload = await findUpload(db, appId, fileName, uploadId)
    if (upload === undefined) throw noSuchUpload()
    return upload
  }

  return {
    create: async (name, metadata, plan) => {
      const { appId, fileName } = newFileOf(name)
      await countUpload(context, appId)
      const beginning = beginUploadInParts(context, appId, fileName, metadata, plan ?? null)
      return (await toS3Errors(unlessTooManyWait(beginning))).importId
    },
    putPart: async (name, uploadId, partNumber, body) => {
      checkSize(body.size)
      const upload = await find(name, uploadId)
      const { objectKey, storageUploadId, checksum } = upload
      if (checksum !== null) body.requireChecksum(checksum.algorithm)
      refuseSize(await reservePart(context, upload, partNumber, body.size))
      const sizedBody = { byteSize: body.size, chunks: context.paced(upload.appId, body.chunks) }
      const etag = withoutQuotes(await toS3Errors(relay.putPart(objectKey, storageUploadId, partNumber, sizedBody)))
      const { md5, checksums } = body.digests()
      if (etag !== md5) await keepPartNames(db, upload, partNumber, { md5, etag })
      return { partNumber, size: body.size, etag: md5, modifiedAt: new Date(), checksums }
    },
    listParts: async (name, uploadId, page) => {
      const upload = await find(name, uploadId)
      const { objectKey, storageUploadId, checksum } = upload
      const { parts, isTruncated } = await toS3Errors(relay.pageOfParts(objectKey, storageUploadId, page))
      const kept = await keptPartNames(db, upload)
      const shown = parts.map(({ partNumber, byteSize, etag: quoted, modifiedAt }) => {
        const stored = withoutQuotes(quoted)
        const names = kept.get(partNumber)
        const etag = names?.etag === stored ? names.md5 : stored
        return { partNumber, size: byteSize, etag, modifiedAt, checksums: {} }
      })
      return { parts: shown, isTruncated, plan: checksum ?? undefined }
    },
    complete: (name, uploadId, readParts, { condition, claims }) => {
      refuseCondition(condition)
      return toS3Errors(complete(context, name, uploadId, readParts, claims))
    },
    abort: async (name, uploadId) => forgetUpload(context, await find(name, uploadId)),
    listUploads: (_bucket, request) => listPendingUploads(db, request),
  }
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
  context: RelayContext,
  name: ObjectName,
  uploadId: string,
  readParts: () => Promise<NamedPart[]>,
  claims: ObjectClaims,
): Promise<ObjectInfo> {
  const { db, log } = context
  const { appId, fileName } = newFileOf(name)
  const upload = await findUpload(db, appId, fileName, uploadId)
  if (upload !== undefined) await assemble(context, upload, await readParts(), claims)
  const finished = upload && (await finishUpload(context, upload, { kind: 'parts' }))
  if (finished?.isNew) {
    log.info({ app_id: appId, import_id: uploadId, byte_size: finished.byteSize }, 'bucket upload queued as an import')
  }
  const file = finished ?? (await findImportedFile(db, appId, fileName, uploadId))
  if (file === undefined) throw noSuchUpload()
  return infoOf(name.key, file, { contentType: '', user: {} })
}

/**
 * Compares the checksum of the whole file, if the sender claims one, with the checksums of the parts that the request
 * names. Each part was verified when it was received.
 *
 * Throws BadDigest if they differ. Throws NotImplemented if the checksum cannot be computed from the named checksums.
 */
function checkObjectChecksum(
  planAtStart: UploadInParts['checksum'],
  parts: readonly NamedPart[],
  claims: ObjectClaims,
): void {
  const plan = planAtEnd(planAtStart ?? undefined, claims)
  if (plan === undefined || claims.checksum === undefined) return
  const composite = plan.type === 'COMPOSITE' ? compositeChecksum(plan.algorithm, parts) : undefined
  if (composite === undefined) {
    throw new S3Error('NotImplemented', `The ${plan.algorithm} of a whole file is not computed here.`)
  }
  checkClaim(composite, claims)
}

/**
 * Makes storage assemble the object from its parts.
 *
 * Throws InvalidPart if storage does not have one of the parts, before the list is sent to storage. Throws
 * EntityTooLarge, and deletes the upload, if the parts together exceed the limit for a file.
 */
async function assemble(
  context: RelayContext,
  upload: UploadInParts,
  parts: readonly NamedPart[],
  claims: ObjectClaims,
): Promise<void> {
  const { db, relay } = context
  const { objectKey, storageUploadId, checksum } = upload
  checkObjectChecksum(checksum, parts, claims)
  try {
    const stored = await relay.listParts(objectKey, storageUploadId)
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
    checkClaimedSize(total, claims)
    const kept = await keptPartNames(db, upload)
    const named = parts.map(({ partNumber, etag }) => {
      const names = kept.get(partNumber)
      return { partNumber, etag: `"${names?.md5 === etag ? names.etag : etag}"` }
    })
    await relay.completeParts(objectKey, storageUploadId, named)
  } catch (error) {
    if (!(await isAssembled(context, upload, error))) throw error
  }
}

/**
 * Returns whether the reason for a failure to assemble an upload may be that another request has completed it. Storage
 * may have shown a part of an upload that was being completed as missing.
 */
async function isAssembled({ relay }: RelayContext, upload: UploadInParts, error: unknown): Promise<boolean> {
  if (!(error instanceof StorageRefusal || error instanceof S3Error)) return false
  // `finishUpload` checks whether the object exists.
  if (error.code === 'NoSuchUpload') return true
  return error.code === 'InvalidPart' && (await relay.describe(upload.objectKey)) !== undefined
}

function invalidPart({ partNumber }: NamedPart): S3Error {
  return new S3Error('InvalidPart', 'One or more of the specified parts could not be found.', {
    fields: { PartNumber: String(partNumber) },
  })
}
