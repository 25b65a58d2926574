import type { Timestamp } from './timestamps.ts'

/** What imports of all apps did in a quarter of an hour. */
export interface QueueHistoryTable {
  /** The beginning of the quarter. */
  slot: Date
  rows_read: number
  completed: number
  failed: number
  /** The largest number of waiting imports that was measured; null if no worker ran. */
  waiting: number | null
  recorded_at: Date
}

/** Heartbeats of worker processes: they are displayed, and select the hosts of maintenance. */
export interface WorkersTable {
  worker_id: string
  host: string
  pid: number
  queues: string[]
  /** The imports that the worker is running. */
  import_ids: string[]
  started_at: Timestamp
  seen_at: Timestamp
  /** When the worker counts as lost, unless it reports again before. */
  lost_at: Date
}
