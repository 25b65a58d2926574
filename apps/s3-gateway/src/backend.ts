import { beginUpload, findFile, finishUpload, pathOf, unlessBroken } from '@sluice/bucket-uploads'
import { type Backend, type ObjectInfo, type ObjectName, S3Error, type Upload } from '@sluice/s3-endpoint'
import type { RelayedMetadata } from '@sluice/storage'
import type { RelayContext } from './context.ts'
import { countUpload, unlessTooManyWait } from './limits.ts'
import { listPath } from './listing.ts'
import { relayMultipart } from './multipart.ts'
import { infoOf } from './objects.ts'
import { checkSize, fileOf, newFileOf, refuseCondition, toS3Errors } from './refusals.ts'

/**
 * Creates the backend that shows clients the paths of apps in the deployment's bucket (service.md, Endpoints 4).
 *
 * An uploaded file is streamed to storage, and is queued as an import before the client gets its answer. A file whose
 * name breaks the rules is refused before its body is read. `authorizeSender` decides which paths a sender may use.
 */
export function createRelayBackend(context: RelayContext, bucket: string): Backend {
  return {
    listBuckets: denied,
    createBucket: async () => false,
    openObject: denied,
    copyObject: denied,
    hasBucket: async (name) => name === bucket,
    putObject: (name, upload, { metadata, condition }) => {
      refuseCondition(condition)
      return toS3Errors(put(context, name, upload, metadata))
    },
    headObject: ({ key }) => head(context, key),
    deleteObject: async ({ key }, condition) => {
      refuseCondition(condition)
      await remove(context, key)
    },
    listObjects: (_, request) => listPath(context, request),
    multipart: relayMultipart(context),
  }
}

async function put(
  context: RelayContext,
  name: ObjectName,
  body: Upload,
  metadata: RelayedMetadata,
): Promise<ObjectInfo> {
  const { appId, fileName } = newFileOf(name)
  checkSize(body.size)
  await countUpload(context, appId)
  const upload = await unlessTooManyWait(beginUpload(context, appId, fileName))
  const file = await unlessBroken(context, upload, async () => {
    await context.relay.put(
      upload.objectKey,
      { byteSize: body.size, chunks: context.paced(appId, body.chunks) },
      metadata,
    )
    const { md5 } = body.digests()
    return await finishUpload(context, upload, { kind: 'request', signature: body.signature, md5 })
  })
  if (file === undefined) throw new Error(`upload ${upload.importId} was removed while it was in flight`)
  if (file.isNew)
    context.log.info(
      { app_id: appId, import_id: upload.importId, byte_size: file.byteSize },
      'bucket upload queued as an import',
    )
  const { md5, checksums } = body.digests()
  return infoOf(name.key, { ...file, etag: md5 }, metadata, checksums)
}

/**
 * Describes the latest file with a name. An unannounced file in the path is later than an imported file with the same
 * name.
 */
async function head({ db, relay }: RelayContext, key: string): Promise<ObjectInfo | undefined> {
  const unannounced = await relay.describe(key)
  if (unannounced !== undefined) return infoOf(key, unannounced, unannounced.metadata)
  const { appId, fileName } = fileOf({ key })
  const file = await findFile(db, appId, fileName)
  const stored = file === undefined ? undefined : await relay.describe(file.objectKey)
  return file === undefined || stored === undefined ? undefined : infoOf(key, file, stored.metadata)
}

/**
 * Deletes an unannounced file. Throws AccessDenied for a file that has become an import, because an import cannot be
 * undone.
 */
async function remove({ db, relay }: RelayContext, key: string): Promise<void> {
  const { appId, fileName } = fileOf({ key })
  if ((await relay.describe(key)) !== undefined) await relay.remove(key)
  else if ((await findFile(db, appId, fileName)) !== undefined) {
    throw new S3Error('AccessDenied', `${pathOf(appId)}${fileName} has become an import and cannot be deleted.`)
  }
}

function denied(): Promise<never> {
  return Promise.reject(new S3Error('AccessDenied', 'Access Denied'))
}
