import { clientPolicy } from '@sluice/service'
import { expect, test } from 'vitest'
import { s3ClientPolicy } from './server.ts'

// docs/security.md, Servers.
test('a file may arrive as slowly by the S3 protocol as at every other server', () => {
  expect(s3ClientPolicy.body.minimumBytesPerSecond).toBe(clientPolicy.upload.minimumBytesPerSecond)
})
