import { mkdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Backend, BucketInfo, ObjectName, OpenObject } from '../backend.ts'
import { createChecksum } from '../body/checksums.ts'
import { S3Error, systemErrorCode } from '../errors.ts'
import { Directories, namesIn, syncDirectory } from './directories.ts'
import { createDiskMultipart } from './multipart.ts'
import { infoOf, type ObjectRecord, type OpenObjectFile, readBytes, readHashed, wholeSecond } from './object-file.ts'
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
    listBuckets: () => listBuckets(directories),
    hasBucket: (bucket) => store.hasBucket(bucket),
    createBucket: (bucket) => createBucket(directories, bucket),
    putObject: (name, upload, { metadata, condition }) => {
      const makeRecord = () => {
        const { md5, checksums } = upload.digests()
        return { key: name.key, etag: md5, modifiedAt: wholeSecond(), metadata, checksums }
      }
      return store.write(name, upload.chunks, { makeRecord, condition })
    },
    openObject: async (name) => {
      const file = await store.open(name)
      return file === undefined ? undefined : openObject(file)
    },
    headObject: async (name) => {
      const file = await store.read(name)
      return file === undefined ? undefined : infoOf(file)
    },
    deleteObject: (name, condition) => store.delete(name, condition),
    copyObject: (source, target, options) => copyObject(store, source, target, options),
    listObjects: (bucket, request) => store.list(bucket, request),
    multipart: createDiskMultipart(directories, store),
  }
}

async function listBuckets(directories: Directories): Promise<BucketInfo[]> {
  const names = (await namesIn(directories.buckets)) ?? []
  return Promise.all(
    names.sort().map(async (name) => {
      const { birthtime } = await stat(join(directories.buckets, name))
      return { name, createdAt: birthtime }
    }),
  )
}

async function createBucket(directories: Directories, bucket: string): Promise<boolean> {
  return directories.withTemporary(async (temporary) => {
    await mkdir(join(temporary, 'objects'), { recursive: true, mode: 0o700 })
    await mkdir(join(temporary, 'uploads'), { mode: 0o700 })
    try {
      await rename(temporary, dirname(directories.objects(bucket)))
    } catch (error) {
      // A bucket always has directories in it, so no other directory can be renamed over it.
      if (systemErrorCode(error) === 'ENOTEMPTY' || systemErrorCode(error) === 'EEXIST') return false
      throw error
    }
    await syncDirectory(directories.buckets)
    return true
  })
}

function openObject(file: OpenObjectFile): OpenObject {
  return {
    info: infoOf(file),
    read: (range) => readBytes(file, range),
    close: () => file.handle.close(),
  }
}

async function copyObject(
  store: ObjectStore,
  source: ObjectName,
  target: ObjectName,
  options: Parameters<Backend['copyObject']>[2],
): ReturnType<Backend['copyObject']> {
  const file = await store.open(source)
  if (file === undefined) {
    throw new S3Error('NoSuchKey', 'The specified key does not exist.', { fields: { Key: source.key } })
  }
  try {
    if (file.record.etag !== options.sourceEtag) {
      throw new S3Error('PreconditionFailed', 'The source was replaced while it was being copied.')
    }
    // The copy keeps the ETag, because it has the same bytes.
    const { etag, checksumType = 'FULL_OBJECT' } = file.record
    const metadata = options.metadata ?? file.record.metadata
    const { algorithm, condition } = options
    const hasher = algorithm === undefined ? undefined : createChecksum(algorithm)
    const makeRecord = (): ObjectRecord => {
      const kept = { checksums: file.record.checksums, checksumType }
      const made = algorithm && hasher && { checksums: { [algorithm]: hasher.digest().toString('base64') } }
      return { key: target.key, etag, modifiedAt: wholeSecond(), metadata, ...(made ?? kept) }
    }
    const chunks = readHashed(file, hasher)
    return await store.write(target, chunks, { makeRecord, condition })
  } finally {
    await file.handle.close()
  }
}
