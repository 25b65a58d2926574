import { randomBytes } from 'node:crypto'
import {
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandOutput,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { createChecksum } from '../body/checksums.ts'
import { type RunningEndpoint, testBucket } from '../testing/running-endpoint.ts'

export const algorithms = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const
export type Algorithm = (typeof algorithms)[number]
type Parts = readonly [Buffer, ...Buffer[]]

const Bucket = testBucket
const Key = 'k'

/** The bodies of two parts. Only the last part of an object may be smaller than 5 MiB. */
export const twoParts: Parts = [randomBytes(5 * 1024 * 1024), randomBytes(10)]

/** The body of an object in one small part. The SDK needs 15 times as long to send 5 MiB. */
export const onePart: Parts = [randomBytes(10)]

/** Returns the checksum of chunks in base64. */
export function digest(algorithm: Algorithm, ...chunks: Uint8Array[]): string {
  const hasher = createChecksum(algorithm.toLowerCase() as Lowercase<Algorithm>)
  for (const chunk of chunks) hasher.update(chunk)
  return hasher.digest().toString('base64')
}

/** Returns the checksum of the parts' checksums, with the number of parts, as S3 shows it. */
export function composite(algorithm: Algorithm, parts: Parts): string {
  const digests = parts.map((part) => Buffer.from(digest(algorithm, part), 'base64'))
  return `${digest(algorithm, ...digests)}-${parts.length}`
}

/** Makes multipart uploads of one key. */
export interface ChecksumUploads {
  client: S3Client
  /** Begins an upload. Returns its ID. */
  begin(input?: Partial<CreateMultipartUploadCommandInput>): Promise<string>
  /** Sends all parts, each with a checksum if an algorithm is passed. Returns what completes the upload. */
  sendParts(
    uploadId: string,
    parts: Parts,
    algorithm?: Algorithm,
  ): Promise<{ PartNumber: number; ETag: string | undefined }[]>
  complete(uploadId: string, parts: object[], options?: object): Promise<CompleteMultipartUploadCommandOutput>
  /** Returns the metadata of the object, with its checksum. */
  head(): Promise<HeadObjectCommandOutput>
}

/** Opens uploads with a client that sends no checksum that was not asked for. */
export function openChecksumUploads(endpoint: RunningEndpoint): ChecksumUploads {
  const client = endpoint.client({ requestChecksumCalculation: 'WHEN_REQUIRED' })
  return {
    client,
    async begin(input = {}) {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...input }))
      return UploadId ?? ''
    },
    async sendParts(UploadId, parts, algorithm) {
      const sent = parts.map((Body, index) => {
        const PartNumber = index + 1
        const checksum = algorithm && { ChecksumAlgorithm: algorithm }
        const part = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body, ...checksum })
        return client.send(part).then(({ ETag }) => ({ PartNumber, ETag }))
      })
      return await Promise.all(sent)
    },
    complete: (UploadId, Parts, options = {}) =>
      client.send(
        new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts }, ...options }),
      ),
    head: () => client.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' })),
  }
}

/**
 * Uploads an object in two parts. Expects that it gets a checksum of `algorithm` and of `type`, if the upload asks for
 * the type `asked`, and that the end of the upload, HEAD and GET show the checksum.
 */
export async function expectChecksum(
  endpoint: RunningEndpoint,
  algorithm: Algorithm,
  asked: 'COMPOSITE' | 'FULL_OBJECT' | undefined,
  type: 'COMPOSITE' | 'FULL_OBJECT',
): Promise<void> {
  const { client, sendParts, complete, head } = openChecksumUploads(endpoint)
  const input = { Bucket, Key, ChecksumAlgorithm: algorithm, ...(asked && { ChecksumType: asked }) }
  const begun = await client.send(new CreateMultipartUploadCommand(input))
  expect([begun.ChecksumAlgorithm, begun.ChecksumType]).toEqual([algorithm, type])
  const parts = await sendParts(begun.UploadId ?? '', twoParts, algorithm)
  const value = type === 'COMPOSITE' ? composite(algorithm, twoParts) : digest(algorithm, ...twoParts)
  const shown = { [`Checksum${algorithm}`]: value, ChecksumType: type }
  expect(await complete(begun.UploadId ?? '', parts)).toMatchObject(shown)
  expect(await head()).toMatchObject(shown)
  const get = await endpoint.client().send(new GetObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }))
  expect(get).toMatchObject(shown)
  expect((await get.Body?.transformToByteArray())?.length).toBe(Buffer.concat(twoParts).length)
}
