import { openStorage } from '@sluice/storage'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openTestStorage } from '../environment/storage.ts'

test('if the bucket is missing or its key is wrong, the reason names the bucket and the answer of storage', async () => {
  const storage = openTestStorage()
  onTestFinished(() => storage.close())
  await storage.check()

  const misset = openStorage({
    S3_ENDPOINT: inject('s3Endpoint'),
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'absent',
    S3_ACCESS_KEY_ID: 'unknown',
    S3_SECRET_ACCESS_KEY: 'wrong',
  })
  onTestFinished(() => misset.close())
  await expect(misset.check()).rejects.toThrow(/^storage answers 40[34] for the bucket absent$/)
})
