import type { Readable } from 'node:stream'

/** The terms of an upload. Storage refuses any other type, size in bytes, or MD5 in base64. */
export interface UploadTerms {
  contentType: string
  byteSize: number
  checksum: string
}

/** An object as listings show it. The ETag is in quotes. */
export interface ListedObject {
  key: string
  byteSize: number
  etag: string
  modifiedAt: Date
}

/** The content type, and the `x-amz-meta-…` headers by their names without this prefix. */
export interface ObjectMetadata {
  contentType: string
  user: Record<string, string>
}

/** An object without its bytes. */
interface StoredObject extends ListedObject {
  metadata: ObjectMetadata
}

/** A stored part of an upload. The ETag is in quotes. */
export interface StoredPart {
  partNumber: number
  byteSize: number
  etag: string
  modifiedAt: Date
}

/** A body to send. Reading `chunks` yields `byteSize` bytes or throws; if it throws, nothing is stored. */
export interface SizedBody {
  byteSize: number
  chunks: AsyncIterable<Uint8Array>
}

export interface ReadOptions {
  /** The position of the first byte; 0 if it is left out. */
  from?: number
  /** The largest number of bytes; all bytes if it is left out. */
  count?: number
  /** The ETag that the object must have. */
  etag?: string
  signal?: AbortSignal
}

interface WriteOptions {
  byteSize?: number | undefined
  user?: ObjectMetadata['user']
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
   * Pre-signs an address for downloads, which a browser saves as `fileName` (`attachment`). The address is valid for 5
   * minutes, or as long as the credential, as for `presignUpload`. The answer has `contentType`; default: CSV.
   */
  presignDownload(key: string, fileName: string, contentType?: string): Promise<string>
  /** Describes an object. Returns undefined if there is no such object. */
  stat(key: string): Promise<StoredObject | undefined>
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
   * signal ends the call with an AbortError. There is no limit for slow senders: the caller aborts a stream that
   * arrives too slowly.
   */
  writeStream(
    key: string,
    content: AsyncIterable<Uint8Array>,
    contentType: string,
    options?: WriteOptions,
  ): Promise<void>
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
  /** Removes every object whose key begins with `prefix`, and the parts of uploads that were never completed. */
  removeAll(prefix: string): Promise<void>
  /** Begins an upload in parts. Returns storage's ID of the upload. */
  beginParts(key: string, metadata: ObjectMetadata): Promise<string>
  /** Stores a part. Returns its ETag in quotes. Throws the errors of reading the body. */
  putPart(key: string, uploadId: string, partNumber: number, body: SizedBody): Promise<string>
  /** Returns all stored parts of an upload, in the order of their numbers. */
  listParts(key: string, uploadId: string): Promise<StoredPart[]>
  /** Returns at most `limit` parts whose numbers are above `after`, in the order of their numbers. */
  pageOfParts(
    key: string,
    uploadId: string,
    page: { after: number; limit: number },
  ): Promise<{ parts: StoredPart[]; isTruncated: boolean }>
  /** Makes an object of the parts. */
  completeParts(key: string, uploadId: string, parts: readonly { partNumber: number; etag: string }[]): Promise<void>
  /** Aborts an upload in parts. Succeeds if there is no such upload. */
  abortParts(key: string, uploadId: string): Promise<void>
  /** Rejects within 5 s if the bucket cannot be reached. */
  check(): Promise<void>
  close(): void
}
