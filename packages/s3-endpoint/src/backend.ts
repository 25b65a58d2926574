import type { Readable } from 'node:stream'

/** A bucket as listings show it. */
export type BucketInfo = { name: string; createdAt: Date }

/** Names one object, both parts checked: a valid bucket name, and a key of 1 to 1024 bytes of UTF-8 without NUL. */
export type ObjectName = { bucket: string; key: string }

/** The checksum algorithms of the S3 protocol, named as in `x-amz-checksum-…`. */
export type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256'

/** Base64 digests by algorithm; only those that the sender named are there. */
export type Checksums = Partial<Record<ChecksumAlgorithm, string>>

/** Whether a checksum of an object is over the checksums of its parts, or over all its bytes. */
export type ChecksumType = 'COMPOSITE' | 'FULL_OBJECT'

/** The checksum that an object in parts gets. Its parts have checksums by this algorithm too. */
export type ChecksumPlan = { algorithm: ChecksumAlgorithm; type: ChecksumType }

/** What a sender may say about an object; header names are in lower case. */
export type ObjectMetadata = {
  contentType: string
  /** Of cache-control, content-disposition, content-encoding, content-language and expires those that were sent. */
  headers: Record<string, string>
  /** The `x-amz-meta-…` headers, by their name without that beginning. */
  user: Record<string, string>
}

/** A stored object without its bytes. `size` is in bytes; `etag` has no quotes; `modifiedAt` is in whole seconds. */
export type ObjectInfo = {
  key: string
  size: number
  etag: string
  modifiedAt: Date
  metadata: ObjectMetadata
  /** A composite one ends in the number of parts: `digest-number`. */
  checksums: Checksums
  checksumType: ChecksumType
}

/** Digests of an upload's bytes: `md5` in hex, and the checksums that the sender named. */
export type UploadDigests = { md5: string; checksums: Checksums }

/**
 * The bytes of an upload on their way in.
 *
 * `chunks` can be read once. It throws where the body breaks off or turns out not to be what the sender signed or
 * declared; it gives out all `size` bytes only where everything is as it should be. So a backend stores nothing for
 * good before it has `size` bytes and `chunks` has ended. `digests` may be called after that.
 */
export type Upload = {
  size: number
  /** Of the request, in hex: a request that is sent again as it was has the same. */
  signature: string
  chunks: AsyncIterable<Uint8Array>
  /**
   * Has `digests` hold a checksum by this algorithm, whether the sender named one or not. Call it before `chunks`.
   *
   * Throws InvalidRequest if the sender named one by another algorithm.
   */
  requireChecksum(algorithm: ChecksumAlgorithm): void
  digests(): UploadDigests
}

/** What must hold for the object that is there now, checked in one step with the write. ETags have no quotes. */
export type WriteCondition = { ifAbsent: true } | { ifMatch: string[] }

/**
 * What must hold for an object that is to be deleted, checked in one step with the deletion. ETags have no quotes.
 *
 * An object that is not there meets every condition.
 */
export type DeleteCondition = { ifMatch: string[] | undefined; modifiedAt: Date | undefined; size: number | undefined }

/**
 * An object held open: its bytes stay readable when it is replaced or deleted meanwhile.
 *
 * `read` gives the bytes from `start` to `end`, both counted from 0 and included; the caller calls `close` at the end.
 */
export type OpenObject = {
  info: ObjectInfo
  read(range: { start: number; end: number }): Readable
  close(): Promise<void>
}

/**
 * One page of a listing to be made. Order is that of the keys' UTF-8 bytes.
 *
 * `after`: only entries behind this key or common prefix. `limit`: the most entries, common prefixes included; 1 or
 * more.
 */
export type ListRequest = { prefix: string; delimiter: string; after: string; limit: number }

/** An object as listings show it. */
export type ListedObject = Pick<ObjectInfo, 'key' | 'size' | 'etag' | 'modifiedAt'>

/** A page of a listing; `next` is the `after` of the next page, where there is one. */
export type ListPage = { objects: ListedObject[]; commonPrefixes: string[]; next: string | undefined }

/** A multipart upload that was begun and neither completed nor aborted. */
export type PendingUpload = { key: string; uploadId: string; startedAt: Date; plan: ChecksumPlan | undefined }

/**
 * Which pending uploads are listed: at most `limit` whose keys begin with `prefix`, from behind `after` on. Of the key
 * of `after`, only uploads with a higher ID are listed, and none if its ID is empty. Both are untrusted text.
 */
export type UploadsRequest = { prefix: string; after: { key: string; uploadId: string }; limit: number }

/** A stored part; `etag` is its MD5 in hex. */
export type PartInfo = { partNumber: number; size: number; etag: string; modifiedAt: Date; checksums: Checksums }

/** A part as the sender names it when completing an upload. */
export type NamedPart = { partNumber: number; etag: string; checksums: Checksums }

/**
 * What the sender says about the whole object when completing an upload. `size` is in bytes.
 *
 * `parts` is the number at the end of a composite checksum, which may be missing.
 */
export type ObjectClaims = {
  type: ChecksumType | undefined
  checksum: { algorithm: ChecksumAlgorithm; digest: string; parts: string | undefined } | undefined
  size: number | undefined
}

/**
 * Multipart uploads. Each method that takes an upload ID rejects with NoSuchUpload unless that upload of that key is
 * pending. The ID is untrusted text.
 */
export type MultipartBackend = {
  /** Begins an upload and gives its ID. */
  create(name: ObjectName, metadata: ObjectMetadata, plan: ChecksumPlan | undefined): Promise<string>
  /** Stores a part, in place of an earlier one with the same number. Its checksum is by the algorithm of the plan. */
  putPart(name: ObjectName, uploadId: string, partNumber: number, upload: Upload): Promise<PartInfo>
  /**
   * Returns parts whose numbers are above `after`, in the order of their numbers and at most `limit` of them, and the
   * upload's plan. `limit` is 1 or more.
   */
  listParts(
    name: ObjectName,
    uploadId: string,
    page: { after: number; limit: number },
  ): Promise<{ parts: PartInfo[]; isTruncated: boolean; plan: ChecksumPlan | undefined }>
  /**
   * Makes the object out of the parts that `readParts` returns, whose numbers rise, and forgets the upload.
   *
   * `readParts` reads the body, so it is called once, and only for an upload that is pending.
   * The object gets the checksum of the plan, or the one that is claimed. Rejects with InvalidPart, EntityTooSmall,
   * BadDigest, InvalidRequest or PreconditionFailed. The upload then stays pending.
   */
  complete(
    name: ObjectName,
    uploadId: string,
    readParts: () => Promise<NamedPart[]>,
    options: { condition: WriteCondition | undefined; claims: ObjectClaims },
  ): Promise<ObjectInfo>
  /** Forgets the upload and its parts. */
  abort(name: ObjectName, uploadId: string): Promise<void>
  /** Returns pending uploads of a bucket in the order of their keys, then of their IDs. */
  listUploads(bucket: string, request: UploadsRequest): Promise<PendingUpload[]>
}

/**
 * Where an endpoint keeps its buckets and objects.
 *
 * Refusals are S3Errors. Writing, deleting, listing and beginning an upload reject with NoSuchBucket where the bucket
 * isn't there; reading gives undefined then. Writes with a condition reject with PreconditionFailed. A write is seen
 * whole or not at all.
 */
export type Backend = {
  listBuckets(): Promise<BucketInfo[]>
  hasBucket(bucket: string): Promise<boolean>
  /** Gives false where the bucket is there already. */
  createBucket(bucket: string): Promise<boolean>
  putObject(
    name: ObjectName,
    upload: Upload,
    options: { metadata: ObjectMetadata; condition: WriteCondition | undefined },
  ): Promise<ObjectInfo>
  openObject(name: ObjectName): Promise<OpenObject | undefined>
  headObject(name: ObjectName): Promise<ObjectInfo | undefined>
  /** Deletes the object. A missing object is no error. Rejects with PreconditionFailed if the condition fails. */
  deleteObject(name: ObjectName, condition: DeleteCondition | undefined): Promise<void>
  /**
   * Copies an object, with its metadata unless `metadata` replaces it. Rejects with NoSuchKey where `source` is
   * missing, and with PreconditionFailed where its ETag isn't `sourceEtag`: the one that the caller checked.
   * The copy gets a checksum by `algorithm`, or keeps those of the source.
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
