import type { Readable } from 'node:stream'

/** A bucket as listings show it. */
export type BucketInfo = { name: string; createdAt: Date }

/** The name of an object. The bucket name is valid; the key has 1 to 1,024 bytes of UTF-8 without NUL. */
export type ObjectName = { bucket: string; key: string }

/** A checksum algorithm of the S3 protocol, as it is named in `x-amz-checksum-…`. */
export type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256'

/** Base64 digests by algorithm. Only algorithms that the sender named are present. */
export type Checksums = Partial<Record<ChecksumAlgorithm, string>>

/** The basis of an object's checksum: the checksums of its parts (`COMPOSITE`), or all its bytes (`FULL_OBJECT`). */
export type ChecksumType = 'COMPOSITE' | 'FULL_OBJECT'

/**
 * The kind of checksum that an object gets when its parts are joined. The parts have checksums by the same algorithm.
 */
export type ChecksumPlan = { algorithm: ChecksumAlgorithm; type: ChecksumType }

/** The metadata that a sender declares for an object. Header names are in lower case. */
export type ObjectMetadata = {
  contentType: string
  /**
   * The headers cache-control, content-disposition, content-encoding, content-language and expires, as far as they were
   * sent.
   */
  headers: Record<string, string>
  /** The `x-amz-meta-…` headers, by their names without this prefix. */
  user: Record<string, string>
}

/** A stored object without its bytes. `size` is in bytes, `etag` has no quotes, and `modifiedAt` is a whole second. */
export type ObjectInfo = {
  key: string
  size: number
  etag: string
  modifiedAt: Date
  metadata: ObjectMetadata
  /** A composite checksum ends with the number of parts: `digest-number`. */
  checksums: Checksums
  checksumType: ChecksumType
}

/** Digests of an upload's bytes: `md5` in hex, and the checksums that the sender named. */
export type UploadDigests = { md5: string; checksums: Checksums }

/**
 * The body of an upload in flight.
 *
 * `chunks` can be read once. It throws if the connection breaks, or if the body is not what the sender signed or
 * declared. It yields all `size` bytes only if everything was verified. A backend must not store anything permanently
 * before `chunks` has ended. `digests` may be called afterwards.
 */
export type Upload = {
  size: number
  /** The signature of the request, in hex. A request that is repeated unchanged has the same signature. */
  signature: string
  chunks: AsyncIterable<Uint8Array>
  /**
   * Makes `digests` return a checksum by this algorithm, even if the sender named none. Must be called before `chunks`
   * is read.
   *
   * Throws InvalidRequest if the sender named a checksum by another algorithm.
   */
  requireChecksum(algorithm: ChecksumAlgorithm): void
  digests(): UploadDigests
}

/** A condition on the existing object, checked in one step with the write. ETags have no quotes. */
export type WriteCondition = { ifAbsent: true } | { ifMatch: string[] }

/**
 * A condition on the object to be deleted, checked in one step with the deletion. ETags have no quotes.
 *
 * A missing object meets every condition.
 */
export type DeleteCondition = { ifMatch: string[] | undefined; modifiedAt: Date | undefined; size: number | undefined }

/**
 * An open object. Its bytes stay readable if it is replaced or deleted.
 *
 * `read` returns the bytes from `start` to `end`, both inclusive and counted from 0. The caller must call `close`.
 */
export type OpenObject = {
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
export type ListRequest = { prefix: string; delimiter: string; after: string; limit: number }

/** An object as listings show it. */
export type ListedObject = Pick<ObjectInfo, 'key' | 'size' | 'etag' | 'modifiedAt'>

/** A page of a listing. `next` is the `after` of the next page, or undefined if there is none. */
export type ListPage = { objects: ListedObject[]; commonPrefixes: string[]; next: string | undefined }

/** A multipart upload that was begun, and was neither completed nor aborted. */
export type PendingUpload = { key: string; uploadId: string; startedAt: Date; plan: ChecksumPlan | undefined }

/**
 * A request for pending uploads: at most `limit` uploads that follow `after` and whose keys begin with `prefix`.
 *
 * An upload with the key of `after` follows it if the upload's ID is higher. If the ID of `after` is empty, no upload
 * with this key follows. Key and ID are untrusted text.
 */
export type UploadsRequest = { prefix: string; after: { key: string; uploadId: string }; limit: number }

/** A stored part. `etag` is its MD5 in hex. */
export type PartInfo = { partNumber: number; size: number; etag: string; modifiedAt: Date; checksums: Checksums }

/** A part as the sender names it at the completion of an upload. */
export type NamedPart = { partNumber: number; etag: string; checksums: Checksums }

/**
 * The sender's claims about the whole object at the completion of an upload. `size` is in bytes.
 *
 * `parts` is the number at the end of a composite checksum, if the sender included it.
 */
export type ObjectClaims = {
  type: ChecksumType | undefined
  checksum: { algorithm: ChecksumAlgorithm; digest: string; parts: string | undefined } | undefined
  size: number | undefined
}

/**
 * Multipart uploads. Each method that accepts an upload ID rejects with NoSuchUpload if no such upload of that key is
 * pending. Only `complete` succeeds again after the upload has made the object. The ID is untrusted text.
 */
export type MultipartBackend = {
  /** Begins an upload. Returns its ID. */
  create(name: ObjectName, metadata: ObjectMetadata, plan: ChecksumPlan | undefined): Promise<string>
  /**
   * Stores a part, and replaces an earlier part of its number. The part gets a checksum by the algorithm of the plan.
   */
  putPart(name: ObjectName, uploadId: string, partNumber: number, upload: Upload): Promise<PartInfo>
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
   * Makes an object of the parts that `readParts` returns in the order of their numbers, and ends the upload.
   *
   * `readParts` reads the body, so it is called at most once, and only for a pending upload. The object gets the
   * checksum of the plan, or otherwise the claimed checksum. Rejects with InvalidPart, EntityTooSmall, BadDigest,
   * InvalidRequest or PreconditionFailed. The upload then stays pending.
   */
  complete(
    name: ObjectName,
    uploadId: string,
    readParts: () => Promise<NamedPart[]>,
    options: { condition: WriteCondition | undefined; claims: ObjectClaims },
  ): Promise<ObjectInfo>
  /** Removes the upload and its parts. */
  abort(name: ObjectName, uploadId: string): Promise<void>
  /** Lists the pending uploads of a bucket, ordered by their keys, then by their IDs. */
  listUploads(bucket: string, request: UploadsRequest): Promise<PendingUpload[]>
}

/**
 * The store of an endpoint's buckets and objects.
 *
 * Refusals are S3Errors. If the bucket is missing, methods that read an object return undefined, and methods that
 * write, delete, list or begin an upload reject with NoSuchBucket. A write whose condition fails rejects with
 * PreconditionFailed. Writes are atomic.
 */
export type Backend = {
  listBuckets(): Promise<BucketInfo[]>
  hasBucket(bucket: string): Promise<boolean>
  /** Creates a bucket. Returns false if it already exists. */
  createBucket(bucket: string): Promise<boolean>
  putObject(
    name: ObjectName,
    upload: Upload,
    options: { metadata: ObjectMetadata; condition: WriteCondition | undefined },
  ): Promise<ObjectInfo>
  openObject(name: ObjectName): Promise<OpenObject | undefined>
  headObject(name: ObjectName): Promise<ObjectInfo | undefined>
  /** Deletes the object. Succeeds if there is none. Rejects with PreconditionFailed if the condition fails. */
  deleteObject(name: ObjectName, condition: DeleteCondition | undefined): Promise<void>
  /**
   * Copies an object, with its metadata unless `metadata` replaces it.
   *
   * The copy gets a checksum by `algorithm`, or otherwise keeps the checksums of the source. Rejects with NoSuchKey if
   * `source` is missing, and with PreconditionFailed if its ETag is not `sourceEtag`, which the caller has checked.
   */
  copyObject(
    source: ObjectName,
    target: ObjectName,
    options: {
      metadata: ObjectMetadata | undefined
      condition: WriteCondition | undefined
      sourceEtag: string
      algorithm: ChecksumAlgorithm | undefined
    },
  ): Promise<ObjectInfo>
  listObjects(bucket: string, request: ListRequest): Promise<ListPage>
  multipart: MultipartBackend
}
