import { mkdir } from 'node:fs/promises'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { startS3Endpoint } from '@sluice/local-stack'
import { startSwift } from './swift.ts'

/** The only user of the tests' storage. Swift wants access keys of the form `account:user`. */
export const testCredentials = { accessKeyId: 'test:test', secretAccessKey: 'test-secret' }

export interface StorageServer {
  url: string
  stop(): Promise<void>
}

/** Whether the tests run against OpenStack Swift instead of our own S3 endpoint. */
export function isOtherStorage(): boolean {
  return process.env.STORAGE_UNDER_TEST === 'swift'
}

/**
 * Starts the storage that system tests share, with the bucket `test`: our own S3 endpoint, or OpenStack Swift if
 * `STORAGE_UNDER_TEST` is `swift` (`npm run test:storage`). The storage keeps its files in `folder`.
 */
export async function startTestStorage(folder: string): Promise<StorageServer> {
  await mkdir(folder)
  const region = 'us-east-1'
  if (isOtherStorage()) {
    const swift = await startSwift(folder, testCredentials)
    const client = new S3Client({ endpoint: swift.url, region, credentials: testCredentials, forcePathStyle: true })
    await client.send(new CreateBucketCommand({ Bucket: 'test' }))
    client.destroy()
    return swift
  }
  const at = { root: folder, host: '127.0.0.1', port: 0 }
  const storage = await startS3Endpoint({ ...at, region, buckets: ['test'], credentials: testCredentials })
  return { url: storage.url, stop: () => storage.close() }
}
