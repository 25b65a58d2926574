import type { ExportState } from '@sluice/contract'
import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

/** Exports of the profiles of an app (packages/exports). */
export interface ExportsTable {
  app_id: number
  export_id: Generated<string>
  /** The columns after `user_id`; null for all keys of the app, by name. */
  keys: string[] | null
  state: Generated<ExportState>
  /** How often the export was claimed or restarted. A worker writes only under the current attempt. */
  attempt: Generated<number>
  /** Number of claims that count against the limit of attempts. */
  tries: Generated<number>
  lease_until: NullableTimestamp
  retry_at: NullableTimestamp
  rows: Generated<number>
  /** Bytes of the file; while the export runs, the bytes so far. */
  bytes: Generated<number>
  error: string | null
  file_secret: string | null
  file_expires_at: NullableTimestamp
  files_removed_at: NullableTimestamp
  /** When the files are removed a second time. Until then, a late write may store a removed file again. */
  sweep_at: NullableTimestamp
  /** Drawn from `data_order` before the attempt's snapshot: deletions with a lower number are in the snapshot. */
  snapshot_order: number | null
  requested_at: Timestamp
  started_at: NullableTimestamp
  finished_at: NullableTimestamp
}
