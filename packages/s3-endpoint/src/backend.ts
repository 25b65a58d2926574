import type { Readable } from 'node:stream'

/** The name of an object. The bucket name is valid; the key has 1 to 1,024 bytes of UTF-8 without NUL. */
export interface ObjectName {
  bucket: string
  key: string
}

/** A checksum algorithm of the S3 protocol, as it is named in `x-amz-checksum-…`. */
export type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256'

/** Base64 digests by algorithm. Only algorithms that the sender named are present. */
export type Checksums = Partial<Record<ChecksumAlgorithm, string>>

/** The basis of an object's checksum: the checksums of its parts (`COMPOSITE`), or all its bytes (`FULL_OBJECT`). */
export type ChecksumType = 'COMPOSITE' | 'FULL_OBJECT'

/** The kind of checksum with which an upload in parts begins. Its parts have checksums by the same algorithm. */
export interface ChecksumPlan {
  algorithm: ChecksumAlgorithm
  type: ChecksumType
}

/** The content type that a sender declares, and the `x-amz-meta-…` headers by their names without this prefix. */
export interface ObjectMetadata {
  contentType: string
  user: Record<string, string>
}

/** An object as listings show it. `size` is in bytes, `etag` has no quotes, and `modifiedAt` is a whole second. */
export interface ListedObject {
  key: string
  size: number
  etag: string
  modifiedAt: Date
}

/** A stored object without its bytes. */
export interface ObjectInfo extends ListedObject {
  metadata: ObjectMetadata
}

/**
 * The body of an upload in flight.
 *
 * `chunks` can be read once. It throws if the connection breaks, or if the body is not what the sender signed or
 * declared. It yields all `size` bytes only if everything was verified. A backend must not store anything permanently
 * before `chunks` has ended. `digests` may be called afterwards.
 */
export interface Upload {
  size: number
  /** The access key that signed the request. */
  accessKeyId: string
  /** The signature of the request, in hex. A request that is repeated unchanged has the same signature. */
  signature: string
  /** The algorithm of the checksum that the sender named, if there is one. */
  algorithm: ChecksumAlgorithm | undefined
  chunks: AsyncIterable<Uint8Array>
  /** Returns the MD5 of the bytes in hex, and the checksum that the sender named. */
  digests(): { md5: string; checksums: Checksums }
}

/**
 * An open object. Its bytes stay readable if it is replaced or deleted.
 *
 * `read` returns the bytes from `start` to `end`, both inclusive and counted from 0. The caller must call `close`.
 */
export interface OpenObject {
  info: ObjectInfo
  read(range: { start: number; end: number }): Readable
  close(): Promise<void>
}

/**
 * A request for one page of a listing. Entries are ordered by the UTF-8 bytes of their keys.
 *
 * The page begins with the first entry that follows `after`, a key or a common prefix. `limit` is the maximum number of
 * entries, common prefixes included; at least 1.
 */
export interface ListRequest {
  prefix: string
  delimiter: string
  after: string
  limit: number
}

/** A page of a listing. `next` is the `after` of the next page, or undefined if there is none. */
export interface ListPage {
  objects: ListedObject[]
  commonPrefixes: string[]
  next: string | undefined
}

/** A multipart upload that was begun, and was neither completed nor aborted. */
export interface PendingUpload {
  key: string
  uploadId: string
  startedAt: Date
  plan: ChecksumPlan | undefined
}

/**
 * A request for pending uploads: at most `limit` uploads that follow `after` and whose keys begin with `prefix`.
 *
 * An upload with the key of `after` follows it if the upload's ID is higher. If the ID of `after` is empty, no upload
 * with this key follows. Key and ID are untrusted text.
 */
export interface UploadsRequest {
  prefix: string
  after: { key: string; uploadId: string }
  limit: number
}

/** A stored part. `etag` is its MD5 in hex. */
export interface PartInfo {
  partNumber: number
  size: number
  etag: string
  modifiedAt: Date
}

/** A part as the sender names it at the completion of an upload. */
export interface NamedPart {
  partNumber: number
  etag: string
  checksums: Checksums
}

/**
 * What the sender states about the whole object at the completion of an upload. `size` is in bytes.
 *
 * `parts` is the number at the end of a composite checksum, if the sender included it.
 */
export interface DeclaredObject {
  type: ChecksumType | undefined
  checksum: { algorithm: ChecksumAlgorithm; digest: string; parts: string | undefined } | undefined
  size: number | undefined
  /** The access key that signed the request. */
  accessKeyId?: string
}

/**
 * Multipart uploads. Each method that accepts an upload ID rejects with NoSuchUpload if no such upload of that key is
 * pending. Only `complete` succeeds again after the upload has made the object. The ID is untrusted text.
 */
export interface MultipartBackend {
  /** Begins an upload. Returns its ID. */
  create(name: ObjectName, metadata: ObjectMetadata, plan: ChecksumPlan | undefined): Promise<string>
  /** Stores a part, and replaces an earlier part of its number. Returns the part's ETag. */
  putPart(name: ObjectName, uploadId: string, partNumber: number, upload: Upload): Promise<string>
  /**
   * Lists an upload's parts in the order of their numbers. Returns the upload's plan as well.
   *
   * Returns at most `limit` parts whose numbers are above `after`. `limit` is at least 1.
   */
  listParts(
    name: ObjectName,
    uploadId: string,
    page: { after: number; limit: number },
  ): Promise<{ parts: PartInfo[]; isTruncated: boolean; plan: ChecksumPlan | undefined }>
  /**
   * Makes an object of the parts that `readParts` returns in the order of their numbers, and ends the upload. Returns
   * the object's ETag.
   *
   * `readParts` reads the body, so it is called at most once, and only for a pending upload. Rejects with InvalidPart,
   * EntityTooSmall, BadDigest or InvalidRequest. The upload then stays pending.
   */
  complete(
    name: ObjectName,
    uploadId: string,
    readParts: () => Promise<NamedPart[]>,
    declared: DeclaredObject,
  ): Promise<string>
  /** Removes the upload and its parts. */
  abort(name: ObjectName, uploadId: string): Promise<void>
  /** Lists the pending uploads of a bucket, ordered by their keys, then by their IDs. */
  listUploads(bucket: string, request: UploadsRequest): Promise<PendingUpload[]>
  /** The largest number of parts of an object. */
  maxParts: number
}

/**
 * The store of an endpoint's buckets and objects.
 *
 * Refusals are S3Errors. If the bucket is missing, methods that read an object return undefined, and methods that
 * write, delete, list or begin an upload reject with NoSuchBucket. Writes are atomic.
 */
export interface Backend {
  hasBucket(bucket: string): Promise<boolean>
  /** Creates a bucket, unless it exists. */
  createBucket(bucket: string): Promise<void>
  /** Stores an object. Returns its ETag. */
  putObject(name: ObjectName, upload: Upload, metadata: ObjectMetadata): Promise<string>
  openObject(name: ObjectName): Promise<OpenObject | undefined>
  headObject(name: ObjectName): Promise<ObjectInfo | undefined>
  /** Deletes the object. Succeeds if there is none. */
  deleteObject(name: ObjectName): Promise<void>
  /** Stores an open object under another name, with its metadata and ETag. */
  copyObject(source: OpenObject, target: ObjectName): Promise<ListedObject>
  listObjects(bucket: string, request: ListRequest): Promise<ListPage>
  multipart: MultipartBackend
}
