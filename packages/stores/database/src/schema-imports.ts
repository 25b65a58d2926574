import type {
  HoldIf,
  ImportSource,
  ImportState,
  ImportWarning,
  MappedColumn,
  NewKeys,
  ValueType,
} from '@sluice/contract'
import type { ColumnType, Generated, GeneratedAlways, JSONColumnType } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

export type ImportContentType = 'text/csv' | 'application/gzip'

export interface ImportsTable {
  app_id: number
  import_id: Generated<string>
  /** Request order: imports of one app are applied in the order of their sequence numbers. */
  sequence_number: Generated<number>
  source: ImportSource
  state: ImportState
  /** A dry run only checks the file: it applies nothing and registers no key. Dry runs have an order of their own. */
  dry_run: Generated<boolean>
  /** The import that this import retries, with the same file and options. The retried import may be removed by now. */
  retry_of: string | null
  /** The import whose changes this import takes back. `object_key` is then that import's changes file. */
  undo_of: string | null
  /** The address of the person who uploaded the file or pressed the button; null if a program sent it. */
  requested_by: string | null
  /** Deletions with a higher number completed after the data was sent. A retry has the number of the first import. */
  data_order: Generated<number>
  object_key: string
  /** The name that the file has for its owner; null if it is not known. */
  file_name: string | null
  content_type: ImportContentType
  byte_size: number | null
  /** MD5 of the file, base64. The client declared it, or it was computed during the upload; null if neither. */
  checksum: string | null
  upload_expires_at: NullableTimestamp
  /**
   * When maintenance next asks storage whether the file is there; null if it need not. If the file comes in a request
   * body: when the import expires unless it is queued by then.
   */
  upload_check_at: NullableTimestamp
  /**
   * ETag of the object when its upload was noticed. If the ETag changes later, the checksum decides whether the file is
   * the same.
   */
  etag: string | null
  /** Bytes of the object when its upload was noticed; null if this service stored the object itself. */
  stored_size: number | null
  /** Hash of the bucket upload's request and of the file, so that a repeated request creates no second import. */
  upload_hash: Buffer | null
  /** Hash of the signature of the bucket upload's request. */
  signature_hash: Buffer | null

  /** Types that the sender declared, by key. */
  profile_types: ColumnType<Record<string, ValueType>, string | undefined, string>
  /** What happens to columns that are neither registered nor declared. */
  new_keys: Generated<NewKeys>
  /** A cell with this text removes its key from the user's profile. */
  clear_marker: string | null
  /** What the rows change is kept, for the changes file. */
  keep_changes: Generated<boolean>
  /** When the import is held for approval after its check. */
  hold_if: ColumnType<HoldIf, string | undefined, string>
  /** The check let the import pass, or somebody approved it. */
  check_passed: Generated<boolean>
  /** The file is only checked for now, as in a dry run: nothing is applied before the check has passed. */
  is_check: GeneratedAlways<boolean>
  /** Why the import is held; of a dry run, why the import would be. */
  held_reasons: string[] | null
  held_at: NullableTimestamp
  /** When the import fails unless somebody approves it. */
  held_until: NullableTimestamp

  attempt: Generated<number>
  /** Claims since the last committed batch. Above the limit, the import fails (design.md §4). */
  tries: Generated<number>
  lease_until: NullableTimestamp
  retry_at: NullableTimestamp
  dispatched_at: NullableTimestamp
  /** The import was released after it committed a batch: no other import of its app runs before this one ends. */
  holds_order: Generated<boolean>

  columns: JSONColumnType<string[]> | null
  types: JSONColumnType<Record<string, ValueType>, string | undefined, string>
  /** Warnings about inferred types that may be wrong. The examples in a warning are values of the file. */
  warnings: ColumnType<ImportWarning[], string | undefined, string>
  /** For columns of inferred types: the index, the values so far, and how many of them lose their spelling in a way. */
  spelling_counts: ColumnType<number[][], string | undefined, string>
  /** Keys that the committed batches of a dry run would have registered. `types` holds their types. */
  previewed_keys: ColumnType<string[], undefined, string[]>
  position: Generated<number>
  /** Beyond `position` if only a part of a batch is committed: the end of the batch. */
  batch_end: number | null
  /** Maximum number of rows of a transaction, because a larger one failed; null if none did. */
  batch_rows: number | null
  rows_total: Generated<number>
  rows_applied: Generated<number>
  rows_failed: Generated<number>
  /** Whether any row failed. Unlike the count, it does not change with each batch, so an index may have it. */
  has_errors: GeneratedAlways<boolean>
  /** Rows that changed a profile as the preceding rows had left it. */
  rows_changed: Generated<number>
  /** What the rows changed, if the import keeps its changes or is a dry run. Counts of 0 may be missing. */
  changes: ColumnType<StoredChanges, string | undefined, string>
  /** Rows of the error file by message. `error-counts.ts` of packages/engine/imports limits the number of messages. */
  error_counts: ColumnType<Record<string, number>, string | undefined, string>
  /** Bytes of the invalid rows so far in the error file, without its header; 0 after the import has ended. */
  error_bytes: Generated<number>
  /**
   * Maximum of `error_bytes`, computed from `ERROR_FILE_LIMIT` when the first batch commits (`errorRoomBytes` of
   * packages/engine/imports); null before that commit.
   */
  error_room: number | null
  /** The first data row, valid or not, that the error file does not cover; row 1 follows the header. */
  error_file_ends_before_row: number | null

  error: string | null
  /** The import was cancelled, and its error file and mails do not exist yet. */
  report_due: Generated<boolean>
  error_file_key: string | null
  error_file_secret: string | null
  /** Bytes of the changed rows so far, as the chunks hold them; 0 after the import has ended. */
  changes_bytes: Generated<number>
  /** The first row with changes that the changes file lacks; 1 if there is no file. */
  changes_file_ends_before_row: number | null
  changes_file_key: string | null
  changes_file_secret: string | null
  file_links_expire_at: NullableTimestamp
  /** All bytes of the error file are UTF-8. */
  error_file_is_utf8: Generated<boolean>
  files_removed_at: NullableTimestamp
  /**
   * Number of `data_order`. What the import keeps for its files has no rows of users whose deletion has at most this
   * number. Null if no deletion has removed rows, and after one has removed the files of a held import.
   */
  deletions_applied_until: number | null

  /** Time of the first request, or of the start of the upload. */
  requested_at: Timestamp
  queued_at: NullableTimestamp
  started_at: NullableTimestamp
  finished_at: NullableTimestamp
}

/** Rows and values that changed. */
interface StoredChanges {
  created?: number
  changed?: number
  /** Rows that changed or removed a stored value, for the bounds of `hold_if`. */
  changing?: number
  /** Rows that removed a stored value. */
  removing?: number
  /** By key, how many values were added, changed and removed. */
  keys?: Record<string, { added?: number; changed?: number; removed?: number }>
}

/**
 * Rows of a growing error file or changes file. They commit with their batch, and are removed when the file is in
 * storage.
 */
export interface ImportChunksTable {
  app_id: number
  import_id: string
  file: Generated<'errors' | 'changes'>
  /**
   * The import's position after the batch whose rows the chunk holds. The chunks form the file in this order.
   */
  position: number
  /** The rows, in the compact form of `kept-rows.ts` or `changed-rows.ts` of packages/engine/batches. */
  content: Buffer
  /** Offset and length in bytes: of invalid rows in the error file, of changed rows in all chunks. */
  starts_at: number
  bytes: number
}

/** A line of a changes file that is being undone; null for no value. Removed when the undo ends. */
export interface UndoLinesTable {
  app_id: number
  import_id: string
  user_id: string
  line: number
  keys: string[]
  types: ValueType[]
  befores: (string | null)[]
  afters: (string | null)[]
}

/**
 * How long an app's imports have used slots of workers. Recent slot time counts more than old slot time
 * (`fair-order.ts` of packages/engine/imports).
 */
export interface ImportSlotTimeTable {
  app_id: number
  seconds: number
  noted_at: Timestamp
}

/** Imports whose prefix in storage is cleared again at `due_at`, because a late write may arrive until then. */
export interface FileSweepsTable {
  app_id: number
  import_id: string
  due_at: Timestamp
}

/** What becomes of a file's columns. The mapping is kept for the next file with the same column names. */
export interface ColumnMappingsTable {
  app_id: number
  /** SHA-256 of the sorted names of the columns. */
  columns_hash: Buffer
  /** The columns that are renamed, left out or rewritten. The mapping holds names, never values of a file. */
  mapping: ColumnType<MappedColumn[], string, string>
  kept_at: Timestamp
}

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
