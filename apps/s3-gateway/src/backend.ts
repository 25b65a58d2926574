import { beginUpload, findFile, finishUpload, forgetUpload, pathOf } from '@sluice/bucket-uploads'
import { type Backend, type ObjectInfo, type ObjectName, S3Error, type Upload } from '@sluice/s3-endpoint'
import type { RelayedMetadata } from '@sluice/storage'
import type { RelayContext } from './context.ts'
import { countUpload, unlessTooManyWait } from './limits.ts'
import { listPath } from './listing.ts'
import { relayMultipart } from './multipart.ts'
import { infoOf } from './objects.ts'
import { checkSize, fileOf, newFileOf, refuseCondition, relayed } from './refusals.ts'

/**
 * The paths of apps in the deployment's bucket as clients see them. What is put there is passed on to storage as it comes,
 * and is an import when the answer goes out. Names that the rules forbid are refused before any of the body is taken.
 *
 * It relies on `authorizeSender` for who may reach which path.
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
      return relayed(put(context, name, upload, metadata))
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
  try {
    await context.relay.put(upload.objectKey, { byteSize: body.size, chunks: body.chunks }, metadata)
  } catch (error) {
    await forgetUpload(context, upload).catch((failure: unknown) => {
      context.log.warn({ app_id: appId, import_id: upload.importId, err: failure }, 'broken upload not removed')
    })
    throw error
  }
  const { md5, checksums } = body.digests()
  const file = await finishUpload(context, upload, { kind: 'request', signature: body.signature, md5 })
  if (file === undefined) throw new Error(`upload ${upload.importId} was removed while it came in`)
  if (file.isNew)
    context.log.info({ app_id: appId, import_id: upload.importId, byte_size: file.byteSize }, 'file taken')
  return infoOf(name.key, file, metadata, checksums)
}

/** A file that maintenance has yet to find is newer than one of its name that has become an import. */
async function head({ db, relay }: RelayContext, key: string): Promise<ObjectInfo | undefined> {
  const waiting = await relay.describe(key)
  if (waiting !== undefined) return infoOf(key, waiting, waiting.metadata)
  const { appId, fileName } = fileOf({ key })
  const file = await findFile(db, appId, fileName)
  const stored = file === undefined ? undefined : await relay.describe(file.objectKey)
  return file === undefined || stored === undefined ? undefined : infoOf(key, file, stored.metadata)
}

/** Deletes a file that is not an import yet. Throws AccessDenied for one that is: it cannot be called back. */
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
