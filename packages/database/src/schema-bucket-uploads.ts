import type { Generated, JSONColumnType } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

/**
 * The kind of checksum, in the terms of S3, that an upload declares for its parts and for the whole file. The values of
 * the checksums are not here.
 */
export interface UploadChecksum {
  algorithm: 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256'
  type: 'COMPOSITE' | 'FULL_OBJECT'
}

/** A file in flight through the S3 gateway. The row is deleted when the file becomes the import with the same ID. */
export interface BucketUploadsTable {
  app_id: number
  import_id: Generated<string>
  file_name: string
  /** Storage's own ID of a multipart upload; null if the file is sent in one request. */
  storage_upload_id: string | null
  /** The checksum that a multipart upload declares; null if it names no algorithm. */
  checksum: JSONColumnType<UploadChecksum> | null
  started_at: Timestamp
  /**
   * When the sender began to send the file. Before `started_at` if the file was put into the bucket without the gateway
   * (an unannounced file), because it was found only later.
   */
  sent_at: Timestamp
  /** As in `imports`. */
  data_order: Generated<number>
  /** Bytes of all parts, including parts in flight. */
  part_bytes: Generated<number>
}

/**
 * The parts of an upload with their sizes, so that a part that is sent again is not counted twice. If storage gives a
 * part another ETag than its MD5, both are kept: the sender names the part by its MD5.
 */
export interface BucketUploadPartsTable {
  app_id: number
  import_id: string
  part_number: number
  byte_size: number
  /** MD5 of the part, in hex. */
  md5: string | null
  /** Storage's ETag of the part, without quotes. */
  etag: string | null
}

/** Unannounced files that could not be read from storage. A row is deleted when its file has left the app's path. */
export interface UnannouncedFileFailuresTable {
  app_id: number
  /** Hash of the object's key, ETag and time. */
  file_hash: Buffer
  /** Runs of maintenance that failed to import the file. */
  failures: Generated<number>
  first_failed_at: Timestamp
  /** When the file was refused. It never becomes an import, and later files no longer wait for it. */
  refused_at: NullableTimestamp
  /** When a mail about the file was sent. It must not be sent again after history has removed it. */
  mailed_at: NullableTimestamp
}
