import type { Settings } from '@sluice/config'
import type { Database } from '@sluice/database'
import type { Storage } from '@sluice/storage'
import type { Logger } from 'pino'

/** The settings that running imports takes. */
export const importSettings = [
  'API_URL',
  'BATCH_ROWS',
  'FILE_RETENTION_DAYS',
  'IMPORT_ATTEMPTS',
  'IMPORT_LEASE',
  'INFERENCE_ROWS',
  'PROFILE_KEY_LIMIT',
  'UNCOMPRESSED_LIMIT',
  'UPLOAD_CHECK_INTERVAL',
  'UPLOAD_ORDER_WAIT',
] as const

/** What an import needs around it. */
export interface ImportContext {
  db: Database
  storage: Storage
  settings: Settings<(typeof importSettings)[number]>
  log: Logger
  /** Aborts when the process shuts down: what is being read ends at once. */
  shutdown?: AbortSignal
}

/** Names one import. */
export interface ImportId {
  appId: number
  importId: string
}
