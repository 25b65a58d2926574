import type { Database } from '@sluice/database'
import type { Relay, Storage } from '@sluice/storage'
import type { Logger } from 'pino'

/** What taking files on needs. */
export interface BucketUploadContext {
  db: Database
  relay: Relay
  settings: { WAITING_IMPORTS_LIMIT: number }
}

/** What maintenance needs besides. */
export interface MaintenanceContext extends BucketUploadContext {
  storage: Storage
  log: Logger
  settings: { FILE_RETENTION_DAYS: number; WAITING_IMPORTS_LIMIT: number }
  /** Aborts when the process shuts down: a task ends before its next file. */
  shutdown?: AbortSignal
}
