import { addAbortSignal, Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { connect, statusOf } from './client.ts'
import { signedSeconds } from './credentials.ts'
import { deleteObjects } from './delete-objects.ts'
import { ObjectGone, ObjectReplaced, StorageFull } from './errors.ts'
import { sendBody } from './send-body.ts'
import { timeOutStalledBody } from './stalled-body.ts'
import type { StorageSettings } from './storage-settings.ts'

/** The terms of an upload. Storage refuses any other type, size in bytes, or MD5 in base64. */
export interface UploadTerms {
  contentType: string
  byteSize: number
  checksum: string
}

interface ReadOptions {
  /** The position of the first byte; 0 if it is left out. */
  from?: number
  /** The ETag that the object must have. */
  etag?: string
  signal?: AbortSignal
}

interface WriteOptions {
  byteSize?: number | undefined
  signal?: AbortSignal | undefined
}

/** Object storage as the service uses it: the objects of one bucket. */
export interface Storage {
  /**
   * Pre-signs an address for a PUT that meets `terms`; the PUT may be repeated. The address is valid for `validForMs`,
   * or until the service's own temporary credential for storage expires, whichever is earlier. Throws
   * `CredentialExpires` if the credential expires too soon for an upload.
   */
  presignUpload(key: string, terms: UploadTerms, validForMs: number): Promise<string>
  /**
   * Pre-signs an address for downloads, which a browser saves as `fileName`. The address expires like that of
   * `presignUpload`. The answer has `contentType`; default: CSV.
   */
  presignDownload(key: string, fileName: string, validForMs: number, contentType?: string): Promise<string>
  /** Returns an object's size in bytes and its ETag, or undefined if there is no such object. */
  stat(key: string): Promise<{ byteSize: number; etag: string } | undefined>
  /**
   * Streams an object from byte `from` on.
   *
   * Throws {@link ObjectGone} if there is no such object, and {@link ObjectReplaced} if its ETag is not `etag`. A
   * caller that stops reading early must destroy the stream. The signal ends the stream with an AbortError.
   */
  read(key: string, options?: ReadOptions): Promise<Readable>
  /** Stores a small object in one request. */
  write(key: string, content: Buffer, contentType: string): Promise<void>
  /**
   * Stores a stream: in one request if `byteSize` is given, and otherwise in parts, which takes twice as long.
   *
   * Nothing is stored if the stream fails or has another length. Throws {@link StorageFull} if storage has no room. The
   * signal ends the call with an AbortError.
   */
  writeStream(key: string, content: AsyncIterable<Buffer>, contentType: string, options?: WriteOptions): Promise<void>
  /** Removes every object whose key begins with `prefix`, and the parts of uploads that were never completed. */
  removeAll(prefix: string): Promise<void>
  /** Rejects within 5 s if the bucket cannot be reached. */
  check(): Promise<void>
  close(): void
}

/**
 * Opens the deployment's bucket. Connects on first use. When `stop` aborts, every request rejects with an AbortError.
 */
export function openStorage(settings: StorageSettings, stop?: AbortSignal): Storage {
  const bucket = settings.S3_BUCKET
  const client = connect(settings, settings.S3_ENDPOINT, limits, stop)
  const uploads = connect(settings, settings.S3_ENDPOINT, { ...limits, socketTimeoutMs: maxSenderPauseMs }, stop)
  const publicClient = connect(settings, settings.S3_PUBLIC_ENDPOINT ?? settings.S3_ENDPOINT, limits)

  return {
    async presignUpload(key, { contentType, byteSize, checksum }, validForMs) {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        ContentType: contentType,
        ContentLength: byteSize,
        ContentMD5: checksum,
      })
      // The presigner signs Content-Type only if it is listed.
      const signableHeaders = new Set(['host', 'content-type', 'content-md5', 'content-length'])
      const expiresIn = await signedSeconds(publicClient, validForMs)
      return await getSignedUrl(publicClient, command, { expiresIn, signableHeaders })
    },

    async presignDownload(key, fileName, validForMs, contentType = 'text/csv; charset=utf-8') {
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ResponseContentDisposition: `attachment; filename="${fileName}"`,
        ResponseContentType: contentType,
      })
      return await getSignedUrl(publicClient, command, { expiresIn: await signedSeconds(publicClient, validForMs) })
    },

    async stat(key) {
      try {
        const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
        return { byteSize: head.ContentLength ?? 0, etag: head.ETag ?? '' }
      } catch (error) {
        if (statusOf(error) === 404) return undefined
        throw error
      }
    },

    async read(key, { from = 0, etag, signal } = {}) {
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ...(from > 0 && { Range: `bytes=${from}-` }),
        ...(etag !== undefined && { IfMatch: etag }),
      })
      try {
        const { Body: body } = await client.send(command, { ...(signal !== undefined && { abortSignal: signal }) })
        if (!(body instanceof Readable)) throw new Error(`storage answered GET ${key} without a stream`)
        timeOutStalledBody(body, responseTimeoutMs)
        return signal === undefined ? body : addAbortSignal(signal, body)
      } catch (error) {
        if (statusOf(error) === 404) throw new ObjectGone(key)
        if (statusOf(error) === 412) throw new ObjectReplaced(key)
        if (statusOf(error) === 416) return Readable.from([])
        throw error
      }
    },

    async write(key, content, contentType) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: content, ContentType: contentType }))
    },

    async writeStream(key, content, contentType, { byteSize, signal } = {}) {
      const about = { Bucket: bucket, Key: key, ContentType: contentType }
      try {
        if (byteSize === undefined) await uploadParts(client, { ...about, Body: Readable.from(content) }, signal)
        else {
          const put = (Body: Readable | Buffer) => new PutObjectCommand({ ...about, ContentLength: byteSize, Body })
          const body = { byteSize, chunks: content }
          const limit = { stallTimeoutMs: responseTimeoutMs, signal }
          await sendBody(body, (bytes, options) => uploads.send(put(bytes), options), limit)
        }
      } catch (error) {
        if (statusOf(error) === 507) throw new StorageFull(key)
        throw error
      }
    },

    async removeAll(prefix) {
      for (;;) {
        const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }))
        const keys = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key]))
        if (keys.length === 0) break
        await deleteObjects(client, bucket, keys)
      }
      // The parts that a killed process has uploaded are not objects, but they take up room.
      const { Uploads: begun = [] } = await client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }),
      )
      for (const { Key, UploadId } of begun) {
        await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }))
      }
    },

    async check() {
      const abortSignal = AbortSignal.timeout(checkTimeoutMs)
      try {
        await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal })
      } catch (error) {
        const status = statusOf(error)
        if (status === undefined) throw error
        // An answer to HEAD has no body, so the SDK's error has no message.
        throw new Error(`storage answers ${status} for the bucket ${bucket}`, { cause: error })
      }
    },

    close() {
      client.destroy()
      uploads.destroy()
      publicClient.destroy()
    },
  }
}

/** How long storage may take to answer, or to send or accept the next bytes. */
const responseTimeoutMs = 20_000
/**
 * How long the sender of a streamed body may pause. The servers' limits for slow clients end a stalled sender before
 * this time.
 */
const maxSenderPauseMs = 15 * 60_000

const limits = { requestTimeoutMs: responseTimeoutMs, socketTimeoutMs: 60_000 }

/** The health check must answer sooner than a request times out. */
const checkTimeoutMs = 5_000

/** Uploads a stream of any length in parts. One part is in memory at a time. */
async function uploadParts(client: S3Client, params: PutObjectCommandInput, signal?: AbortSignal): Promise<void> {
  const upload = new Upload({ client, queueSize: 1, params })
  const abort = () => void upload.abort()
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  try {
    await upload.done()
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
