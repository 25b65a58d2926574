import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { embeddedStorageAccess } from '@sluice/local-stack'
import { openStorage, type Storage, storageSettings } from '@sluice/storage'
import { until } from '../environment/wait.ts'
import { type App, openApp } from '../stack/client.ts'
import type { RunningStack } from '../stack/running-stack.ts'

/** The bucket of the stack that `npm start` runs. */
export const stackBucket = 'sluice'

/** An app of a running stack, with access to its path in the bucket. */
export interface BucketOwner extends App {
  path: string
  /** Address of the S3 gateway. */
  gateway: string
  accessKeyId: string
  secretAccessKey: string
}

/** Creates an app with these users, and an access key on the command line. */
export async function openBucketOwner(stack: RunningStack, users: readonly string[] = []): Promise<BucketOwner> {
  const app = await openApp(stack, users)
  const { code, json } = await stack.sluice('key', 'create', '--app', String(app.appId))
  assert.equal(code, 0)
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = json as Record<string, string>
  assert(accessKeyId !== undefined && secretAccessKey !== undefined)
  const { s3_gateway: gateway = '' } = await stack.info()
  return { ...app, path: pathOf(app.appId), gateway, accessKeyId, secretAccessKey }
}

/** Creates a client of the AWS SDK with its default settings. */
export function s3ClientOf(owner: BucketOwner): S3Client {
  return new S3Client({ endpoint: owner.gateway, region: 'us-east-1', credentials: owner, forcePathStyle: true })
}

/** Returns a pre-signed address for PUTs of a file name, valid for an hour. */
export async function presignPut(owner: BucketOwner, fileName: string): Promise<string> {
  const config = { endpoint: owner.gateway, region: 'us-east-1', credentials: owner, forcePathStyle: true }
  // Otherwise the SDK signs the checksum of an empty body.
  const client = new S3Client({ ...config, requestChecksumCalculation: 'WHEN_REQUIRED' })
  const command = new PutObjectCommand({ Bucket: stackBucket, Key: `${owner.path}${fileName}` })
  const url = await getSignedUrl(client, command, { expiresIn: 3600 })
  client.destroy()
  return url
}

/** The bucket without the S3 gateway, as an operator accesses it. */
export async function openStackStorage(stack: RunningStack): Promise<Storage> {
  const { storage } = await stack.info()
  const access = await embeddedStorageAccess(stack.home, {})
  return openStorage(readSettings({ S3_ENDPOINT: storage, ...access }, storageSettings))
}

/** The import of a file. */
export interface FileImport {
  importId: string
  state: string
  byteSize: number | null
  objectKey: string
}

/** Returns the imports of a file name, oldest first. */
export async function importsNamed(stack: RunningStack, owner: BucketOwner, fileName: string): Promise<FileImport[]> {
  const rows = await stack.db
    .selectFrom('imports')
    .select(['import_id', 'state', 'byte_size', 'object_key'])
    .where('app_id', '=', owner.appId)
    .where('file_name', '=', fileName)
    .where('source', '=', 'bucket')
    .orderBy('sequence_number')
    .execute()
  return rows.map((row) => ({
    importId: row.import_id,
    state: row.state,
    byteSize: row.byte_size,
    objectKey: row.object_key,
  }))
}

/** Waits until a file name has imports and all of them have ended. Returns them, oldest first. */
export async function endedImports(stack: RunningStack, owner: BucketOwner, fileName: string): Promise<FileImport[]> {
  return await until(`the end of the import of ${fileName}`, async () => {
    const found = await importsNamed(stack, owner, fileName)
    return found.length > 0 && found.every(({ state }) => state === 'completed' || state === 'failed') && found
  })
}

/** Returns the MD5 of a stored object in hex. */
export async function md5Of(storage: Storage, objectKey: string): Promise<string> {
  const md5 = createHash('md5')
  for await (const chunk of await storage.read(objectKey)) md5.update(chunk)
  return md5.digest('hex')
}
