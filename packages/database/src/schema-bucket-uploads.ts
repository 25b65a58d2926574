import type { Generated, JSONColumnType } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

/** The checksum that a bucket upload's parts, and the whole, are to have. */
export interface UploadChecksum {
  algorithm: 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256'
  type: 'COMPOSITE' | 'FULL_OBJECT'
}

/** A file on its way through the S3 gateway; it goes when the file becomes an import, whose ID it has. */
export interface BucketUploadsTable {
  app_id: number
  import_id: Generated<string>
  file_name: string
  /** Storage's own ID of an upload in parts; null where the file comes whole. */
  storage_upload_id: string | null
  /** What an upload in parts begins with; null if it names no algorithm. */
  checksum: JSONColumnType<UploadChecksum> | null
  started_at: Timestamp
  /** When its sender began to send it: before `started_at` if the file was unannounced. */
  sent_at: Timestamp
  /** Bytes of its parts, also of those that are on their way. */
  part_bytes: Generated<number>
}

/** The parts of an upload, by which a part that is sent again is not counted twice. */
export interface BucketUploadPartsTable {
  app_id: number
  import_id: string
  part_number: number
  byte_size: number
}

/** Unannounced files that storage did not hand over. A row goes when its file has left the app's path. */
export interface UnannouncedFileFailuresTable {
  app_id: number
  /** Of the object: its key, ETag and time. */
  file_hash: Buffer
  /** Runs of maintenance that failed to take the file on. */
  failures: Generated<number>
  first_failed_at: Timestamp
  /** Set when the file is refused: it never becomes an import, and later files no longer wait for it. */
  refused_at: NullableTimestamp
}
