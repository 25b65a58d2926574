import { openStorage, type Storage } from '@sluice/storage'
import { inject } from 'vitest'

/** The storage that system tests share; object keys hold random import IDs, so they do not collide. */
export function openTestStorage(): Storage {
  return openStorage({
    S3_ENDPOINT: inject('s3Endpoint'),
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'test',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: 'test-secret',
  })
}
