import type { Generated } from 'kysely'
import type { Timestamp } from './timestamps.ts'

/** Has one row while all apps are paused. */
export interface ServicePauseTable {
  only_row: Generated<boolean>
  paused_at: Timestamp
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

/** Entries of the audit log. They outlive their app. */
export interface AuditLogTable {
  /** 0 if the entry concerns the whole service. */
  app_id: number
  at: Timestamp
  entry_id: Generated<number>
  who_type: 'member' | 'operator' | 'cli' | 'token' | 'guest'
  /** An e-mail address, a system user, or the last characters of an API token. */
  who: string
  /** An action of packages/access/audit-log. */
  what: string
  target: string | null
  outcome: Generated<'started' | 'done' | 'unchanged' | 'refused' | 'failed'>
  address: string | null
  request_id: string | null
}

/** Idempotency keys with the responses that are kept for repetitions (packages/http/idempotency). */
export interface IdempotencyKeysTable {
  app_id: number
  /** Method and path of the route. */
  function: string
  key: string
  /** Identifies the latest claim of the key, which may have ended. */
  owner: string
  lease_until: Timestamp
  created_at: Timestamp
  /** Null while the request is in flight; otherwise the response. */
  status: number | null
  body: string | null
  /** SHA-256 of the request's body. */
  request_hash: Buffer | null
  import_id: string | null
}

/**
 * Counts of requests, which packages/http/rate-limits writes. The key of an app's count begins with the app's ID and a
 * colon.
 */
export interface RateLimitsTable {
  key: string
  points: number
  expire: number | null
}
