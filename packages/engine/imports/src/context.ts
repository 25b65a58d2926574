import type { Settings } from '@sluice/config'
import type { Database, ImportContentType } from '@sluice/database'
import type { Storage } from '@sluice/storage'
import type { Logger } from 'pino'

/** Settings that {@link ImportContext} needs. */
export const importSettings = [
  'API_URL',
  'BATCH_ROWS',
  'CHANGES_FILE_LIMIT',
  'ERROR_FILE_LIMIT',
  'FILE_RETENTION_DAYS',
  'HOLD_LIMIT',
  'IMPORT_ATTEMPTS',
  'IMPORT_LEASE',
  'IMPORT_SLICE',
  'INFERENCE_ROWS',
  'KNOWN_ROWS_MEMORY',
  'PROFILE_KEY_LIMIT',
  'UNCOMPRESSED_LIMIT',
  'UPLOAD_CHECK_INTERVAL',
  'UPLOAD_ORDER_WAIT',
  'WAITING_IMPORTS_LIMIT',
] as const

/** Settings that {@link FileContext} needs. */
const fileSettings = ['INFERENCE_ROWS', 'PROFILE_KEY_LIMIT', 'UNCOMPRESSED_LIMIT'] as const

/** Settings that {@link ReceiveContext} needs. */
export const receiveSettings = [...fileSettings, 'API_UPLOAD_TIMEOUT', 'WAITING_IMPORTS_LIMIT'] as const

/** Called after each commit of a batch, for metrics. */
export type BatchObserver = (batch: CommittedBatch) => void

interface CommittedBatch {
  rowsApplied: number
  rowsFailed: number
  /** Bytes of the uncompressed file from the end of the preceding batch to the end of this batch. */
  bytes: number
  /** Time from sending the batch to its commit. */
  ms: number
}

/** What running and maintaining imports needs. */
export interface ImportContext {
  db: Database
  storage: Storage
  settings: Settings<(typeof importSettings)[number]>
  log: Logger
  onBatch?: BatchObserver
  /** The address of the dashboard. Without it, mails have no link to the page of their import. */
  dashboardUrl?: string
  /** Aborts when the process shuts down. Reads from storage end at once. */
  shutdown?: AbortSignal
}

/** What reading an import's file needs. */
export interface FileContext extends Pick<ImportContext, 'db' | 'storage' | 'shutdown'> {
  settings: Settings<(typeof fileSettings)[number]>
}

/** What requesting an import needs. */
export interface RequestContext extends Pick<ImportContext, 'db' | 'storage'> {
  settings: Settings<'WAITING_IMPORTS_LIMIT'>
}

/** What receiving a file in the body of a v2 request needs. */
export interface ReceiveContext extends FileContext, Pick<ImportContext, 'log'> {
  settings: Settings<(typeof receiveSettings)[number]>
}

export interface ImportId {
  appId: number
  importId: string
}

/** The app that imports must belong to. Only operators may read the imports of `'any'` app. */
export type OwnerApp = number | 'any'

/** An import's file in storage. */
export interface StoredFile extends ImportId {
  objectKey: string
  contentType: ImportContentType
  /** ETag of the object when its upload was noticed. */
  etag: string | null
  /** MD5 of the file in base64; null if it is unknown. Tells a replaced file from a file that was uploaded twice. */
  checksum: string | null
}
