import { Readable } from 'node:stream'
import { PutObjectCommand, type PutObjectCommandInput, type S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { type Clients, statusOf } from './client.ts'
import { StorageFull } from './errors.ts'
import { sendBody } from './send-body.ts'
import type { ObjectMetadata, Storage } from './storage.ts'

/** Calls that store whole objects. */
export function writeCalls({ bucket: Bucket, calls, long }: Clients): Pick<Storage, 'write' | 'writeStream'> {
  return {
    async write(Key, Body, ContentType) {
      await calls.send(new PutObjectCommand({ Bucket, Key, Body, ContentType }))
    },

    async writeStream(Key, content, contentType, { byteSize, user = {}, signal } = {}) {
      const about = { Bucket, Key, ...toInput({ contentType, user }) }
      try {
        if (byteSize === undefined) await uploadParts(calls, { ...about, Body: Readable.from(content) }, signal)
        else {
          const put = (Body: Readable | Buffer) => new PutObjectCommand({ ...about, ContentLength: byteSize, Body })
          const body = { byteSize, chunks: content }
          await sendBody(body, (bytes, options) => long.send(put(bytes), options), signal)
        }
      } catch (error) {
        if (statusOf(error) === 507) throw new StorageFull(Key)
        throw error
      }
    },
  }
}

/** Converts metadata to an input of the SDK, with one space for other white space: the SDK signs it so. */
export function toInput({ contentType, user }: ObjectMetadata) {
  const withSpaces = (text: string) => text.replaceAll(/\s+/g, ' ')
  const Metadata = Object.fromEntries(Object.entries(user).map(([name, value]) => [name, withSpaces(value)]))
  return { ContentType: withSpaces(contentType), Metadata }
}

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
