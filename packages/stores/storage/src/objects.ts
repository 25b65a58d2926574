import { addAbortSignal, Readable } from 'node:stream'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import { type Clients, longRequestMs, responseTimeoutMs, statusOf } from './client.ts'
import { deleteObjects } from './delete-objects.ts'
import { ObjectGone, ObjectReplaced, toRefusal } from './errors.ts'
import { abortUpload } from './parts.ts'
import { timeOutStalledBody } from './stalled-body.ts'
import type { ListedObject, ReadOptions, Storage } from './storage.ts'

/** Calls that read objects. */
export function readCalls({ bucket: Bucket, calls }: Clients): Pick<Storage, 'stat' | 'read' | 'list'> {
  return {
    async stat(Key) {
      try {
        const head = await calls.send(new HeadObjectCommand({ Bucket, Key }))
        const metadata = { contentType: head.ContentType ?? 'binary/octet-stream', user: head.Metadata ?? {} }
        return { ...listed({ ...head, Key, Size: head.ContentLength }), metadata }
      } catch (error) {
        if (statusOf(error) === 404) return undefined
        throw error
      }
    },

    async read(Key, options = {}) {
      const { etag, signal } = options
      const about = { Bucket, Key, ...rangeOf(options), ...(etag !== undefined && { IfMatch: etag }) }
      try {
        const { Body: body } = await calls.send(new GetObjectCommand(about), { ...(signal && { abortSignal: signal }) })
        if (!(body instanceof Readable)) throw new Error(`storage answered GET ${Key} without a stream`)
        timeOutStalledBody(body, responseTimeoutMs)
        return signal === undefined ? body : addAbortSignal(signal, body)
      } catch (error) {
        if (statusOf(error) === 404) throw new ObjectGone(Key)
        if (statusOf(error) === 412) throw new ObjectReplaced(Key)
        // No byte is in the range.
        if (statusOf(error) === 416) return Readable.from([])
        throw error
      }
    },

    list: (prefix) => listPages({ bucket: Bucket, calls }, prefix),
  }
}

/** Calls that copy or remove objects. */
export function changeCalls({ bucket: Bucket, calls, long }: Clients): Pick<Storage, 'copy' | 'remove' | 'removeAll'> {
  return {
    async copy(key, etag, target) {
      const CopySource = encodeURIComponent(`${Bucket}/${key}`)
      const about = { Bucket, Key: target, CopySource, CopySourceIfMatch: etag }
      try {
        await long.send(new CopyObjectCommand(about), { requestTimeout: longRequestMs })
      } catch (error) {
        if (statusOf(error) === 404) throw new ObjectGone(key)
        if (statusOf(error) === 412) throw new ObjectReplaced(key)
        throw toRefusal(error, target)
      }
    },

    async remove(Key) {
      await calls.send(new DeleteObjectCommand({ Bucket, Key }))
    },

    async removeAll(Prefix) {
      for await (const objects of listPages({ bucket: Bucket, calls }, Prefix)) {
        await deleteObjects(
          calls,
          Bucket,
          objects.map(({ key }) => key),
        )
      }
      // The parts that a killed process has uploaded are not objects, but they take up room.
      let page: ListMultipartUploadsCommandOutput | undefined
      do {
        const after = { KeyMarker: page?.NextKeyMarker, UploadIdMarker: page?.NextUploadIdMarker }
        page = await calls.send(new ListMultipartUploadsCommand({ Bucket, Prefix, ...after }))
        for (const { Key, UploadId } of page.Uploads ?? []) await abortUpload(calls, { Bucket, Key, UploadId })
      } while (page.IsTruncated === true && page.Uploads !== undefined)
    },
  }
}

/** Yields the objects whose keys begin with `Prefix`, page by page. */
async function* listPages({ bucket: Bucket, calls }: Pick<Clients, 'bucket' | 'calls'>, Prefix: string) {
  let ContinuationToken: string | undefined
  do {
    const about = { Bucket, Prefix, ...(ContinuationToken !== undefined && { ContinuationToken }) }
    const page = await calls.send(new ListObjectsV2Command(about))
    const objects = (page.Contents ?? []).map(listed)
    // A page may be empty, and others follow: S3 passes over removed versions.
    if (objects.length > 0) yield objects
    ContinuationToken = page.NextContinuationToken
  } while (ContinuationToken !== undefined)
}

function rangeOf({ from = 0, count }: ReadOptions): { Range?: string } {
  if (from === 0 && count === undefined) return {}
  return { Range: `bytes=${from}-${count === undefined ? '' : from + count - 1}` }
}

interface SdkObject {
  Key?: string | undefined
  Size?: number | undefined
  ETag?: string | undefined
  LastModified?: Date | undefined
}

function listed({ Key = '', Size = 0, ETag = '', LastModified = new Date(0) }: SdkObject): ListedObject {
  return { key: Key, byteSize: Size, etag: ETag, modifiedAt: LastModified }
}
