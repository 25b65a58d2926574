import { accessKeyFinder, noteUse } from '@sluice/access-keys'
import { hasDotSegment, pathOf } from '@sluice/bucket-uploads'
import type { Database } from '@sluice/database'
import type { EncryptionKeys } from '@sluice/encryption'
import type { Authorize, FindCredentials, OperationName } from '@sluice/s3-endpoint'
import type { Logger } from 'pino'

/** The app and the access key that signed a request. */
export interface Sender {
  appId: number
  accessKeyId: string
}

/** The operations that a key may use on files in its app's path. */
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
/**
 * The listings that a key may use if their prefix is in its app's path. Some clients know only the first version of
 * ListObjects.
 */
const listings = new Set<OperationName>(['ListMultipartUploads', 'ListObjects', 'ListObjectsV2'])
/**
 * The operations that clients use on a bucket before they upload to it. They reveal nothing that the key's owner does
 * not know. rclone creates the bucket without checking, and accepts the answer that the bucket exists.
 */
const bucketOperations = new Set<OperationName>(['CreateBucket', 'GetBucketLocation', 'HeadBucket'])

/**
 * Returns a function that looks up the secret of an access key. It is called for every request, so a deleted key stops
 * working at once.
 */
export function findSender(db: Database, keys: EncryptionKeys): FindCredentials<Sender> {
  const findKey = accessKeyFinder(db, keys)
  return async (accessKeyId) => {
    const found = await findKey(accessKeyId)
    if (found === undefined) return undefined
    return { secretAccessKey: found.secretAccessKey, identity: { appId: found.appId, accessKeyId } }
  }
}

/**
 * Allows a verified sender access to its app's path in the bucket, and to nothing else (design.md §4, Isolation).
 * Records the use of its key.
 */
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
