import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { expect, test } from 'vitest'
import { runEndpoint, testBucket } from './start.fixture.ts'

const Bucket = testBucket
const Key = 'folder/large ü'
const partBytes = 5 * 1024 * 1024

// multipart.test.ts has the default checksum, and a shorter file.
test.each(['CRC32C', 'CRC64NVME', 'SHA256'] as const)(
  'a multipart upload by lib-storage with the checksum %s arrives whole',
  async (ChecksumAlgorithm) => {
    const client = (await runEndpoint()).client()
    const bytes = randomBytes(2 * partBytes + 1234)
    const params = { Bucket, Key, Body: Readable.from([bytes]), ChecksumAlgorithm }
    await new Upload({ client, params }).done()
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }))
    const arrived = (await Body?.transformToByteArray()) ?? Buffer.alloc(0)
    expect(bytes.equals(arrived)).toBe(true)
  },
)
