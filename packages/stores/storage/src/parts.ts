import {
  AbortMultipartUploadCommand,
  type AbortMultipartUploadCommandInput,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListPartsCommand,
  type Part,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { type Clients, longRequestMs, statusOf } from './client.ts'
import { refused } from './errors.ts'
import { sendBody } from './send-body.ts'
import type { Storage, StoredPart } from './storage.ts'
import { toInput } from './write.ts'

/** The largest page of parts that S3 returns. */
const partsPerPage = 1_000

type PartCalls = 'beginParts' | 'putPart' | 'listParts' | 'pageOfParts' | 'completeParts' | 'abortParts'

/** Calls of uploads in parts. */
export function partCalls({ bucket: Bucket, calls, long }: Clients): Pick<Storage, PartCalls> {
  const pageOfParts: Storage['pageOfParts'] = async (Key, UploadId, { after, limit }) => {
    const about = { Bucket, Key, UploadId, MaxParts: limit, PartNumberMarker: String(after) }
    const { Parts = [], IsTruncated = false } = await refused(Key, calls.send(new ListPartsCommand(about)))
    return { parts: Parts.map(storedPart), isTruncated: IsTruncated }
  }

  return {
    async beginParts(Key, metadata) {
      const { UploadId } = await calls.send(new CreateMultipartUploadCommand({ Bucket, Key, ...toInput(metadata) }))
      if (UploadId === undefined) throw new Error(`storage gave the upload of ${Key} no ID`)
      return UploadId
    },

    async putPart(Key, UploadId, PartNumber, body) {
      const about = { Bucket, Key, UploadId, PartNumber, ContentLength: body.byteSize }
      const sending = sendBody(body, (Body, options) => long.send(new UploadPartCommand({ ...about, Body }), options))
      return (await refused(Key, sending)).ETag ?? ''
    },

    async listParts(key, uploadId) {
      const parts: StoredPart[] = []
      // The SDK's paginator ends only at a page without a marker, and storage need not return such a page.
      for (let isTruncated = true; isTruncated; ) {
        const page = await pageOfParts(key, uploadId, { after: parts.at(-1)?.partNumber ?? 0, limit: partsPerPage })
        parts.push(...page.parts)
        isTruncated = page.isTruncated && page.parts.length > 0
      }
      return parts
    },

    pageOfParts,

    async completeParts(Key, UploadId, parts) {
      const Parts = parts.map(({ partNumber, etag }) => ({ PartNumber: partNumber, ETag: etag }))
      const about = { Bucket, Key, UploadId, MultipartUpload: { Parts } }
      await refused(Key, long.send(new CompleteMultipartUploadCommand(about), { requestTimeout: longRequestMs }))
    },

    abortParts: (Key, UploadId) => abortUpload(calls, { Bucket, Key, UploadId }),
  }
}

/** Aborts an upload in parts. Succeeds if there is no such upload: somebody else may be aborting it. */
export async function abortUpload(client: S3Client, about: AbortMultipartUploadCommandInput): Promise<void> {
  try {
    await client.send(new AbortMultipartUploadCommand(about))
  } catch (error) {
    if (statusOf(error) !== 404) throw error
  }
}

function storedPart({ PartNumber = 0, Size = 0, ETag = '', LastModified = new Date(0) }: Part): StoredPart {
  return { partNumber: PartNumber, byteSize: Size, etag: ETag, modifiedAt: LastModified }
}
