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
import { connect, statusOf } from './client.ts'
import { ObjectGone, ObjectReplaced, refusalCode, StorageFull, StorageRefusal } from './errors.ts'
import { type SizedBody, sendBody } from './send-body.ts'
import type { StorageSettings } from './storage-settings.ts'

/**
 * The metadata that a sender declares: the content type, and the `x-amz-meta-…` headers by their names without this
 * prefix.
 */
export interface RelayedMetadata {
  contentType: string
  user: Record<string, string>
}

/** An object without its bytes. The ETag is in quotes. */
export interface RelayedObject {
  byteSize: number
  etag: string
  modifiedAt: Date
  metadata: RelayedMetadata
}

/** A stored part of an upload. The ETag is in quotes. */
interface RelayedPart {
  partNumber: number
  byteSize: number
  etag: string
  modifiedAt: Date
}

/** A page of an upload's parts, in the order of their numbers. */
interface PageOfParts {
  parts: RelayedPart[]
  isTruncated: boolean
}

/** An object as listings show it. */
export interface ListedObject extends Pick<RelayedObject, 'byteSize' | 'etag' | 'modifiedAt'> {
  key: string
}

/**
 * The deployment's bucket as the S3 gateway uses it. Bodies of clients are streamed to storage, and their calls are
 * passed on.
 *
 * The relay has no limit for slow senders: the caller aborts a body that arrives too slowly. If storage refuses a call,
 * the relay throws {@link StorageRefusal} or {@link StorageFull}.
 */
export interface Relay {
  /** Stores an object. Returns its ETag. Throws the errors of reading the body. */
  put(key: string, body: SizedBody, metadata: RelayedMetadata): Promise<string>
  /** Returns an object's description, or undefined if there is no such object. */
  describe(key: string): Promise<RelayedObject | undefined>
  /** Reads at most the first `byteCount` bytes of an object. Throws {@link ObjectGone} if there is no such object. */
  readStart(key: string, byteCount: number): Promise<Buffer>
  /** Begins an upload in parts. Returns storage's ID of the upload. */
  beginParts(key: string, metadata: RelayedMetadata): Promise<string>
  /** Stores a part. Returns its ETag. Throws the errors of reading the body. */
  putPart(key: string, uploadId: string, partNumber: number, body: SizedBody): Promise<string>
  /** Returns all stored parts of an upload, in the order of their numbers. */
  listParts(key: string, uploadId: string): Promise<RelayedPart[]>
  /** Returns at most `limit` parts whose numbers are above `after`, in one request. */
  pageOfParts(key: string, uploadId: string, page: { after: number; limit: number }): Promise<PageOfParts>
  /** Makes an object of the parts. */
  completeParts(key: string, uploadId: string, parts: readonly { partNumber: number; etag: string }[]): Promise<void>
  /** Aborts an upload in parts. Succeeds if there is no such upload. */
  abortParts(key: string, uploadId: string): Promise<void>
  /** Yields the objects whose keys begin with `prefix`, page by page, in the order of their keys. */
  list(prefix: string): AsyncGenerator<ListedObject[]>
  /**
   * Copies an object within storage.
   *
   * Throws {@link ObjectGone} if there is no such object, and {@link ObjectReplaced} if its ETag is not `etag`.
   */
  copy(key: string, etag: string, target: string): Promise<void>
  /** Removes an object. Succeeds if there is no such object. */
  remove(key: string): Promise<void>
  close(): void
}

/** The largest page of parts that S3 returns. */
const partsPerPage = 1_000

/** Maximum number of requests to storage that a relay has in flight. Further requests wait. */
export const maxRelayRequests = 1_000

/**
 * How long storage may accept no bytes. It is longer than the S3 gateway's limit for a stalled sender, so that the
 * gateway refuses the sender before storage times out.
 */
const stallTimeoutMs = 4 * 60_000

const limits = { requestTimeoutMs: 0, socketTimeoutMs: stallTimeoutMs, maxSockets: maxRelayRequests }

/**
 * Opens the deployment's bucket for relayed requests. Connects on first use.
 *
 * When `stop` aborts, every request rejects with an AbortError.
 */
export function openRelay(settings: StorageSettings, stop?: AbortSignal): Relay {
  const Bucket = settings.S3_BUCKET
  const client = connect(settings, settings.S3_ENDPOINT, limits, stop)

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
  const Metadata = Object.fromEntries(Object.entries(user).map(([name, value]) => [name, withSpaces(value)]))
  return { ContentType: withSpaces(contentType), Metadata }
}

/** Returns a text with one space instead of other white space: the SDK signs it so, and storage may not. */
function withSpaces(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

/** Streams a body to storage. Returns the ETag of the stored bytes. */
async function relayBody(
  body: SizedBody,
  send: Parameters<typeof sendBody<{ ETag?: string | undefined }>>[1],
): Promise<string> {
  try {
    const { ETag: etag } = await sendBody(body, send, { stallTimeoutMs })
    return etag ?? ''
  } catch (error) {
    throw toRefusal(error)
  }
}

/**
 * Converts an error of the SDK to {@link StorageFull} or {@link StorageRefusal} if it is one. Returns other errors
 * unchanged.
 */
function toRefusal(error: unknown): unknown {
  if (statusOf(error) === 507) return new StorageFull('the upload')
  const code = error instanceof S3ServiceException ? refusalCode(error.name) : undefined
  return code === undefined || !(error instanceof Error) ? error : new StorageRefusal(code, error.message)
}
