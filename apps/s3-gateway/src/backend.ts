import { beginUpload, findFile, finishUpload, pathOf, unlessBroken } from '@sluice/bucket-uploads'
import {
  type Backend,
  type ObjectInfo,
  type ObjectMetadata,
  type ObjectName,
  S3Error,
  type Upload,
} from '@sluice/s3-endpoint'
import type { GatewayContext } from './context.ts'
import { countUpload, unlessTooManyWait } from './limits.ts'
import { listPath } from './listing.ts'
import { announceImport, multipartBackend } from './multipart.ts'
import { infoOf } from './objects.ts'
import { checkSize, fileOf, newFileOf, toS3Errors } from './refusals.ts'

/**
 * Creates the backend that shows clients the paths of apps in the deployment's bucket (service.md, Endpoints 4).
 *
 * An uploaded file is streamed to storage, and is queued as an import before the client gets its answer. A file whose
 * name breaks the rules is refused before its body is read. `authorizeSender` decides which paths a sender may use.
 */
export function gatewayBackend(context: GatewayContext, bucket: string): Backend {
  return {
    createBucket: denied,
    openObject: denied,
    copyObject: denied,
    hasBucket: async (name) => name === bucket,
    putObject: (name, upload, metadata) => toS3Errors(put(context, name, upload, metadata)),
    headObject: ({ key }) => head(context, key),
    deleteObject: ({ key }) => remove(context, key),
    listObjects: (_, request) => listPath(context, request),
    multipart: multipartBackend(context),
  }
}

/** Stores a file and queues it as an import. Returns its ETag. */
async function put(
  context: GatewayContext,
  name: ObjectName,
  body: Upload,
  { contentType, user }: ObjectMetadata,
): Promise<string> {
  const { appId, fileName } = newFileOf(name)
  checkSize(body.size)
  await countUpload(context, appId)
  const upload = await unlessTooManyWait(beginUpload(context, appId, fileName))
  const file = await unlessBroken(context, upload, async () => {
    const chunks = context.paced(appId, body.chunks)
    await context.storage.writeStream(upload.objectKey, chunks, contentType, { byteSize: body.size, user })
    const { md5 } = body.digests()
    const { signature, accessKeyId } = body
    return await finishUpload(context, upload, { kind: 'request', signature, md5, accessKeyId })
  })
  if (file === undefined) throw new Error(`upload ${upload.importId} was removed while it was in flight`)
  if (file.isNew) announceImport(context, { appId, importId: upload.importId, byteSize: file.byteSize })
  return body.digests().md5
}

/**
 * Describes the latest file with a name. An unannounced file in the path is later than an imported file with the same
 * name.
 */
async function head({ db, storage }: GatewayContext, key: string): Promise<ObjectInfo | undefined> {
  const unannounced = await storage.stat(key)
  if (unannounced !== undefined) return infoOf(key, unannounced, unannounced.metadata)
  const { appId, fileName } = fileOf({ key })
  const file = await findFile(db, appId, fileName)
  const stored = file === undefined ? undefined : await storage.stat(file.objectKey)
  return file === undefined || stored === undefined ? undefined : infoOf(key, file, stored.metadata)
}

/**
 * Deletes an unannounced file. Throws AccessDenied for a file that has become an import, because an import cannot be
 * undone.
 */
async function remove({ db, storage }: GatewayContext, key: string): Promise<void> {
  const { appId, fileName } = fileOf({ key })
  if ((await storage.stat(key)) !== undefined) await storage.remove(key)
  else if ((await findFile(db, appId, fileName)) !== undefined) {
    throw new S3Error('AccessDenied', `${pathOf(appId)}${fileName} has become an import and cannot be deleted.`)
  }
}

function denied(): Promise<never> {
  return Promise.reject(new S3Error('AccessDenied', 'Access Denied'))
}
