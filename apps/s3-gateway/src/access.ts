import { accessKeyFinder, type EncryptionKeys, noteUse } from '@sluice/access-keys'
import { hasDotSegment, pathOf } from '@sluice/bucket-uploads'
import type { Database } from '@sluice/database'
import type { Authorize, FindCredentials, OperationName } from '@sluice/s3-endpoint'
import type { Logger } from 'pino'

/** Whom a request was signed by. */
export interface Sender {
  appId: number
  accessKeyId: string
}

/** What a key may do with files in its app's path. */
const fileOperations = new Set<OperationName>([
  'AbortMultipartUpload',
  'CompleteMultipartUpload',
  'CreateMultipartUpload',
  'DeleteObject',
  'HeadObject',
  'ListParts',
  'PutObject',
  'UploadPart',
])
/** What it may list, where the prefix lies in the path. Some clients know the first version of the call only. */
const listings = new Set<OperationName>(['ListMultipartUploads', 'ListObjects', 'ListObjectsV2'])
/**
 * What clients ask of a bucket before they put anything into it; it tells nothing that the key's owner does not know. rclone
 * makes the bucket without asking, and takes it well that it is there already.
 */
const bucketOperations = new Set<OperationName>(['CreateBucket', 'GetBucketLocation', 'HeadBucket'])

/** Finds the secret of an access key, at every request anew: a key that is deleted stops working at once. */
export function findSender(db: Database, keys: EncryptionKeys): FindCredentials<Sender> {
  const findKey = accessKeyFinder(db, keys)
  return async (accessKeyId) => {
    const found = await findKey(accessKeyId)
    if (found === undefined) return undefined
    return { secretAccessKey: found.secretAccessKey, identity: { appId: found.appId, accessKeyId } }
  }
}

/** Lets a verified sender reach its app's path in the bucket and nothing else, and notes that its key was used. */
export function authorizeSender({ db, log }: { db: Database; log: Logger }, bucket: string): Authorize<Sender> {
  return ({ appId, accessKeyId }, operation, askedBucket, key) => {
    noteUse(db, appId, accessKeyId).catch((error: unknown) =>
      log.warn({ err: error }, 'use of an access key not noted'),
    )
    return isAllowed(appId, operation, askedBucket === bucket, key)
  }
}

function isAllowed(appId: number, operation: OperationName, isOwnBucket: boolean, key: string): boolean {
  if (!isOwnBucket || hasDotSegment(key)) return false
  if (bucketOperations.has(operation)) return true
  return (fileOperations.has(operation) || listings.has(operation)) && key.startsWith(pathOf(appId))
}
