import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { connect, type StorageSettings, statusOf } from './client.ts'
import { ObjectGone, ObjectReplaced, refusalCode, StorageFull, StorageRefusal } from './errors.ts'
import { type SizedBody, sendBody } from './send-body.ts'

/** What a sender says of an object: its type, and the `x-amz-meta-…` headers without that beginning. */
export interface RelayedMetadata {
  contentType: string
  user: Record<string, string>
}

/** An object without its bytes; the ETag has its quotes. */
export interface RelayedObject {
  byteSize: number
  etag: string
  modifiedAt: Date
  metadata: RelayedMetadata
}

/** A part of an upload that is there; the ETag has its quotes. */
interface RelayedPart {
  partNumber: number
  byteSize: number
  etag: string
  modifiedAt: Date
}

/** Some of the parts, in the order of their numbers. */
interface PageOfParts {
  parts: RelayedPart[]
  isTruncated: boolean
}

/** An object of a listing. */
export interface ListedObject extends Pick<RelayedObject, 'byteSize' | 'etag' | 'modifiedAt'> {
  key: string
}

/**
 * The deployment's bucket for what clients of S3 send: bytes and calls are passed on as they come. It waits for a sender
 * however slow it is: the caller ends those that are too slow. What storage refuses is thrown as {@link StorageRefusal} or {@link StorageFull}.
 */
export interface Relay {
  /** Stores an object; gives its ETag. Throws what reading the body throws. */
  put(key: string, body: SizedBody, metadata: RelayedMetadata): Promise<string>
  /** Gives undefined where there is no such object. */
  describe(key: string): Promise<RelayedObject | undefined>
  /** Gives the first bytes of an object, `byteCount` at most. Throws {@link ObjectGone}. */
  readStart(key: string, byteCount: number): Promise<Buffer>
  /** Begins an upload in parts; gives storage's ID of it. */
  beginParts(key: string, metadata: RelayedMetadata): Promise<string>
  /** Stores a part; gives its ETag. Throws what reading the body throws. */
  putPart(key: string, uploadId: string, partNumber: number, body: SizedBody): Promise<string>
  /** Gives the parts that are there, in the order of their numbers. */
  listParts(key: string, uploadId: string): Promise<RelayedPart[]>
  /** Returns at most `limit` parts whose numbers are above `after`, in one request. */
  pageOfParts(key: string, uploadId: string, page: { after: number; limit: number }): Promise<PageOfParts>
  completeParts(key: string, uploadId: string, parts: readonly { partNumber: number; etag: string }[]): Promise<void>
  /** Forgets an upload in parts; one that is gone already is no error. */
  abortParts(key: string, uploadId: string): Promise<void>
  /** Gives the objects whose keys begin with `prefix`, page by page, in the order of their keys. */
  list(prefix: string): AsyncGenerator<ListedObject[]>
  /** Copies an object within storage. Throws {@link ObjectGone}, and {@link ObjectReplaced} where its ETag is another. */
  copy(key: string, etag: string, target: string): Promise<void>
  /** Removes an object; that it is not there is no error. */
  remove(key: string): Promise<void>
  close(): void
}

/** S3's own figure. */
const partsPerPage = 1_000

/** Requests to storage that a relay has in flight at most; further ones wait. */
export const relayRequests = 1_000

/** Senders may be slow. The S3 gateway ends those that are too slow, so this waits for storage longer than it does. ms. */
const patience = { requestTimeout: 0, socketTimeout: 4 * 60_000, maxSockets: relayRequests }

/**
 * Opens the deployment's bucket for passing on. Connects on first use. When `stop` aborts, every request ends with an
 * AbortError.
 */
export function openRelay(settings: StorageSettings, stop?: AbortSignal): Relay {
  const Bucket = settings.S3_BUCKET
  const client = connect(settings, settings.S3_ENDPOINT, patience, stop)

  async function pageOfParts(
    Key: string,
    UploadId: string,
    { after, limit }: { after: number; limit: number },
  ): Promise<PageOfParts> {
    const about = { Bucket, Key, UploadId, MaxParts: limit, PartNumberMarker: String(after) }
    try {
      const { Parts = [], IsTruncated = false } = await client.send(new ListPartsCommand(about))
      const parts = Parts.map(({ PartNumber = 0, Size = 0, ETag = '', LastModified = new Date(0) }) => {
        return { partNumber: PartNumber, byteSize: Size, etag: ETag, modifiedAt: LastModified }
      })
      return { parts, isTruncated: IsTruncated }
    } catch (error) {
      throw toRefusal(error)
    }
  }

  return {
    async put(Key, body, metadata) {
      const about = { Bucket, Key, ContentLength: body.byteSize, ...toInput(metadata) }
      return await relayBody(body, (Body, options) => client.send(new PutObjectCommand({ ...about, Body }), options))
    },

    async describe(Key) {
      try {
        const head = await client.send(new HeadObjectCommand({ Bucket, Key }))
        return {
          byteSize: head.ContentLength ?? 0,
          etag: head.ETag ?? '',
          modifiedAt: head.LastModified ?? new Date(0),
          metadata: { contentType: head.ContentType ?? 'binary/octet-stream', user: head.Metadata ?? {} },
        }
      } catch (error) {
        if (statusOf(error) === 404) return undefined
        throw error
      }
    },

    async readStart(Key, byteCount) {
      try {
        const start = await client.send(new GetObjectCommand({ Bucket, Key, Range: `bytes=0-${byteCount - 1}` }))
        return Buffer.from((await start.Body?.transformToByteArray()) ?? [])
      } catch (error) {
        if (statusOf(error) === 404) throw new ObjectGone(Key)
        // An empty object has no first byte.
        if (statusOf(error) === 416) return Buffer.alloc(0)
        throw error
      }
    },

    async beginParts(Key, metadata) {
      const begun = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...toInput(metadata) }))
      if (begun.UploadId === undefined) throw new Error(`storage gave the upload of ${Key} no ID`)
      return begun.UploadId
    },

    async putPart(Key, UploadId, PartNumber, body) {
      const about = { Bucket, Key, UploadId, PartNumber, ContentLength: body.byteSize }
      return await relayBody(body, (Body, options) => client.send(new UploadPartCommand({ ...about, Body }), options))
    },

    async listParts(key, uploadId) {
      const parts: RelayedPart[] = []
      // The SDK's own pages end only where the marker is missing, which no storage promises.
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
      try {
        await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
      } catch (error) {
        throw toRefusal(error)
      }
    },

    async abortParts(Key, UploadId) {
      try {
        await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
      } catch (error) {
        if (statusOf(error) !== 404) throw error
      }
    },

    async *list(Prefix) {
      let StartAfter: string | undefined
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket, Prefix, ...(StartAfter !== undefined && { StartAfter }) }),
        )
        const objects = (page.Contents ?? []).map(({ Key = '', Size = 0, ETag = '', LastModified = new Date(0) }) => {
          return { key: Key, byteSize: Size, etag: ETag, modifiedAt: LastModified }
        })
        if (objects.length > 0) yield objects
        StartAfter = page.IsTruncated === true ? objects.at(-1)?.key : undefined
      } while (StartAfter !== undefined)
    },

    async copy(key, etag, target) {
      const CopySource = encodeURIComponent(`${Bucket}/${key}`)
      try {
        await client.send(new CopyObjectCommand({ Bucket, Key: target, CopySource, CopySourceIfMatch: etag }))
      } catch (error) {
        if (statusOf(error) === 404) throw new ObjectGone(key)
        if (statusOf(error) === 412) throw new ObjectReplaced(key)
        throw toRefusal(error)
      }
    },

    async remove(Key) {
      await client.send(new DeleteObjectCommand({ Bucket, Key }))
    },

    close() {
      client.destroy()
    },
  }
}

function toInput({ contentType, user }: RelayedMetadata) {
  return { ContentType: contentType, Metadata: user }
}

/** Passes a body on; gives its ETag. */
async function relayBody(
  body: SizedBody,
  send: Parameters<typeof sendBody<{ ETag?: string | undefined }>>[1],
): Promise<string> {
  try {
    const { ETag: etag } = await sendBody(body, send, { silence: patience.socketTimeout })
    return etag ?? ''
  } catch (error) {
    throw toRefusal(error)
  }
}

function toRefusal(error: unknown): unknown {
  if (statusOf(error) === 507) return new StorageFull('the upload')
  const code = error instanceof S3ServiceException ? refusalCode(error.name) : undefined
  return code === undefined || !(error instanceof Error) ? error : new StorageRefusal(code, error.message)
}
