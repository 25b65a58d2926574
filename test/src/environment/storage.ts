import { randomBytes } from 'node:crypto'
import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { openRelay, openStorage, type Relay, type Storage, type StorageSettings } from '@sluice/storage'
import { inject } from 'vitest'

const region = 'us-east-1'
const bucket = 'test'
const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret' }

/** Opens the storage that system tests share. Object keys contain random import IDs, so they do not collide. */
export function openTestStorage(): Storage {
  return openStorage({
    S3_ENDPOINT: inject('s3Endpoint'),
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  })
}

/** A bucket that only one test uses. */
export interface TestBucket {
  storage: Storage
  relay: Relay
  settings: StorageSettings
  close(): void
}

export async function openTestBucket(): Promise<TestBucket> {
  const name = `test-${randomBytes(8).toString('hex')}`
  const client = new S3Client({ endpoint: inject('s3Endpoint'), region, credentials, forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: name }))
  client.destroy()
  const settings = {
    S3_ENDPOINT: inject('s3Endpoint'),
    S3_REGION: region,
    S3_BUCKET: name,
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
  const [storage, relay] = [openStorage(settings), openRelay(settings)]
  return {
    storage,
    relay,
    settings,
    close() {
      storage.close()
      relay.close()
    },
  }
}

/** Returns the number of unfinished multipart uploads whose keys begin with `prefix`. */
export async function unfinishedUploads(prefix: string): Promise<number> {
  const client = new S3Client({ endpoint: inject('s3Endpoint'), region, credentials, forcePathStyle: true })
  try {
    const { Uploads: uploads = [] } = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }),
    )
    return uploads.length
  } finally {
    client.destroy()
  }
}
