import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Backend, systemErrorCode } from '@sluice/s3-endpoint'
import { Directories, syncDirectory } from './directories.ts'
import { createDiskMultipart } from './multipart.ts'
import { infoOf, readBytes, wholeSecond } from './object-file.ts'
import { ObjectStore } from './object-store.ts'

/**
 * Opens a backend that stores everything below the directory `root`. Creates the directory if it is missing.
 *
 * One process at a time may use a root. Incomplete files of an earlier process are removed. Pending multipart uploads
 * are kept.
 */
export async function createDiskBackend({ root }: { root: string }): Promise<Backend> {
  const directories = new Directories(root)
  await directories.prepare()
  const store = new ObjectStore(directories)
  return {
    hasBucket: (bucket) => store.hasBucket(bucket),
    createBucket: (bucket) => createBucket(directories, bucket),
    async putObject(name, upload, metadata) {
      const stored = await store.write(name, upload.chunks, () => {
        return { key: name.key, etag: upload.digests().md5, modifiedAt: wholeSecond(), metadata }
      })
      return stored.etag
    },
    async openObject(name) {
      const file = await store.open(name)
      return file && { info: infoOf(file), read: (range) => readBytes(file, range), close: () => file.handle.close() }
    },
    async headObject(name) {
      const file = await store.read(name)
      return file && infoOf(file)
    },
    deleteObject: (name) => store.delete(name),
    copyObject: ({ info, read }, target) => {
      const { etag, metadata, size } = info
      const makeRecord = () => ({ key: target.key, etag, modifiedAt: wholeSecond(), metadata })
      return store.write(target, read({ start: 0, end: size - 1 }), makeRecord)
    },
    listObjects: (bucket, request) => store.list(bucket, request),
    multipart: createDiskMultipart(directories, store),
  }
}

/** Creates a bucket, unless it exists: a bucket has directories in it, so none can be renamed over it. */
async function createBucket(directories: Directories, bucket: string): Promise<void> {
  await directories.withTemporary(async (temporary) => {
    await mkdir(join(temporary, 'objects'), { recursive: true, mode: 0o700 })
    await mkdir(join(temporary, 'uploads'), { mode: 0o700 })
    await rename(temporary, dirname(directories.objects(bucket))).catch((error: unknown) => {
      if (!['ENOTEMPTY', 'EEXIST'].includes(systemErrorCode(error) ?? '')) throw error
    })
    await syncDirectory(directories.buckets)
  })
}
