import { randomBytes } from 'node:crypto'
import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { openStorage, type Storage, type StorageSettings } from '@sluice/storage'
import { inject } from 'vitest'
import { testCredentials } from './storage-server.ts'

const region = 'us-east-1'
const bucket = 'test'

/** Returns the settings of the storage that system tests share, for processes too. */
export function testStorageSettings() {
  return settingsOf(inject('s3Endpoint'))
}

/** Returns the settings of the tests' storage at an address. */
export function settingsOf(endpoint: string) {
  return {
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: testCredentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
  }
}

/** Opens the storage that system tests share. Object keys contain random import IDs, so they do not collide. */
export function openTestStorage(): Storage {
  return openStorage(testStorageSettings())
}

/** Creates a bucket in the storage that system tests share. */
export async function makeBucket(name: string): Promise<void> {
  const client = testClient()
  await client.send(new CreateBucketCommand({ Bucket: name }))
  client.destroy()
}

function testClient(): S3Client {
  return new S3Client({
    endpoint: inject('s3Endpoint'),
    region,
    credentials: testCredentials,
    forcePathStyle: true,
  })
}

export interface TestBucket {
  storage: Storage
  settings: StorageSettings
  /** The settings as environment variables. */
  environment: Record<string, string>
  close(): void
}

export async function openTestBucket(): Promise<TestBucket> {
  const name = `test-${randomBytes(8).toString('hex')}`
  await makeBucket(name)
  const settings = { ...testStorageSettings(), S3_BUCKET: name }
  const storage = openStorage(settings)
  return {
    storage,
    settings,
    environment: Object.fromEntries(Object.entries(settings).map(([setting, value]) => [setting, String(value)])),
    close() {
      storage.close()
    },
  }
}

/** Returns the number of unfinished multipart uploads whose keys begin with `prefix`. */
export async function unfinishedUploads(prefix: string): Promise<number> {
  const client = testClient()
  try {
    const { Uploads: uploads = [] } = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }),
    )
    return uploads.length
  } finally {
    client.destroy()
  }
}
