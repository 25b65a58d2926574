import type { Database } from '@sluice/database'
import type { Storage } from '@sluice/storage'
import type { Logger } from 'pino'

/** The services and settings that receiving bucket uploads uses. */
export interface UploadContext {
  db: Database
  storage: Storage
  log: Logger
  settings: { WAITING_IMPORTS_LIMIT: number }
}

/** The services and settings that maintenance of the bucket uses. */
export interface MaintenanceContext extends UploadContext {
  settings: { FILE_RETENTION_DAYS: number; WAITING_IMPORTS_LIMIT: number }
  /** Aborts when the process shuts down. A task then ends before its next file. */
  shutdown?: AbortSignal
}
