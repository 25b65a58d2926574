import { addAbortSignal, Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
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
import { connect, type StorageSettings, statusOf } from './client.ts'
import { ObjectGone, ObjectReplaced, StorageFull } from './errors.ts'
import { sendBody } from './send-body.ts'
import { endWhenSilent } from './silence.ts'

/** What an upload must be: storage refuses any other type, size (bytes) or MD5 (base64). */
export interface UploadTerms {
  contentType: string
  byteSize: number
  checksum: string
}

/** What part of which version of an object is read, and for how long. */
interface ReadOptions {
  /** First byte; 0 if not given. */
  from?: number
  etag?: string
  signal?: AbortSignal
}

interface WriteOptions {
  byteSize?: number | undefined
  signal?: AbortSignal | undefined
}

/** Object storage as the service uses it: one bucket, keys, streams. */
export interface Storage {
  /** Address for one PUT of exactly what `terms` say, good for `validFor` ms. */
  presignUpload(key: string, terms: UploadTerms, validFor: number): Promise<string>
  /** Address for GETs that a browser saves as `fileName`, good for `validFor` ms. */
  presignDownload(key: string, fileName: string, validFor: number): Promise<string>
  /** Size in bytes and ETag of an object; undefined where there is none. */
  stat(key: string): Promise<{ byteSize: number; etag: string } | undefined>
  /**
   * Streams an object from byte `from` on. Throws {@link ObjectGone} where there is none and {@link ObjectReplaced} where
   * its ETag is not the given one. Whoever stops reading early destroys the stream; the signal ends it with an AbortError.
   */
  read(key: string, options?: ReadOptions): Promise<Readable>
  /** Stores a small object whole. */
  write(key: string, content: Buffer, contentType: string): Promise<void>
  /**
   * Stores a stream: one of known length (bytes) in one go, any other in parts, which takes twice as long. Nothing is stored
   * where the stream fails or has another length. Throws {@link StorageFull}; the signal ends it with an AbortError.
   */
  writeStream(key: string, content: AsyncIterable<Buffer>, contentType: string, options?: WriteOptions): Promise<void>
  /** Removes every object whose key begins with `prefix`, and the parts of uploads that were never ended. */
  removeAll(prefix: string): Promise<void>
  /** Rejects where the bucket cannot be reached, within 5 s. */
  check(): Promise<void>
  close(): void
}

/** Opens the deployment's bucket. Connects on first use. When `stop` aborts, every request ends with an AbortError. */
export function openStorage(settings: StorageSettings, stop?: AbortSignal): Storage {
  const bucket = settings.S3_BUCKET
  const client = connect(settings, settings.S3_ENDPOINT, patience, stop)
  const uploads = connect(settings, settings.S3_ENDPOINT, { ...patience, socketTimeout: longestPause }, stop)
  const publicClient = connect(settings, settings.S3_PUBLIC_ENDPOINT ?? settings.S3_ENDPOINT, patience)

  return {
    presignUpload(key, { contentType, byteSize, checksum }, validFor) {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        ContentType: contentType,
        ContentLength: byteSize,
        ContentMD5: checksum,
      })
      // The presigner signs Content-Type only where it is told to.
      const signableHeaders = new Set(['host', 'content-type', 'content-md5', 'content-length'])
      return getSignedUrl(publicClient, command, { expiresIn: validFor / 1000, signableHeaders })
    },

    presignDownload(key, fileName, validFor) {
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ResponseContentDisposition: `attachment; filename="${fileName}"`,
        ResponseContentType: 'text/csv; charset=utf-8',
      })
      return getSignedUrl(publicClient, command, { expiresIn: validFor / 1000 })
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
        endWhenSilent(body, silence)
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
          await sendBody(body, (bytes, options) => uploads.send(put(bytes), options), { silence, signal })
        }
      } catch (error) {
        if (statusOf(error) === 507) throw new StorageFull(key)
        throw error
      }
    },

    async removeAll(prefix) {
      for (;;) {
        const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }))
        const objects = (page.Contents ?? []).map(({ Key }) => ({ Key }))
        if (objects.length === 0) break
        const removed = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: objects } }))
        const refused = removed.Errors?.[0]
        if (refused !== undefined) throw new Error(`storage did not remove ${refused.Key}: ${refused.Message}`)
      }
      // What a process that was killed had uploaded in parts is no object, but takes up room.
      const { Uploads: begun = [] } = await client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }),
      )
      for (const { Key, UploadId } of begun) {
        await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }))
      }
    },

    async check() {
      const abortSignal = AbortSignal.timeout(checkTimeout)
      try {
        await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal })
      } catch (error) {
        const status = statusOf(error)
        if (status === undefined) throw error
        // An answer to HEAD has no body, so that the error has no words of its own.
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

/** Storage that owes an answer, or the next bytes of one, for so long is taken for dead, ms. */
const silence = 20_000
/** Whoever sends what is stored as it comes may pause for so long, ms; who is silent for longer is cut off before. */
const longestPause = 15 * 60_000

const patience = { requestTimeout: silence, socketTimeout: 60_000 }

/** Whether storage is there has to be known sooner, ms. */
const checkTimeout = 5_000

/** Uploads a stream of any length, in parts, of which one is in memory at a time. */
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
