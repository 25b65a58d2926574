import type { Settings } from '@sluice/config'
import type { Database, ImportContentType } from '@sluice/database'
import type { Storage } from '@sluice/storage'
import type { Logger } from 'pino'

/** The settings that running imports takes. */
export const importSettings = [
  'API_URL',
  'BATCH_ROWS',
  'ERROR_FILE_LIMIT',
  'FILE_RETENTION_DAYS',
  'IMPORT_ATTEMPTS',
  'IMPORT_LEASE',
  'IMPORT_SLICE',
  'INFERENCE_ROWS',
  'PROFILE_KEY_LIMIT',
  'UNCOMPRESSED_LIMIT',
  'UPLOAD_CHECK_INTERVAL',
  'UPLOAD_ORDER_WAIT',
  'WAITING_IMPORTS_LIMIT',
] as const

/** The settings that looking into a file takes. */
const fileSettings = ['INFERENCE_ROWS', 'PROFILE_KEY_LIMIT', 'UNCOMPRESSED_LIMIT'] as const

/** The settings that receiving a file in the body of a request takes (v2). */
export const receiveSettings = [...fileSettings, 'API_UPLOAD_TIMEOUT', 'WAITING_IMPORTS_LIMIT'] as const

/** Is told of every batch that is committed; for those who count. */
export type BatchObserver = (batch: CommittedBatch) => void

export interface CommittedBatch {
  rowsApplied: number
  rowsFailed: number
  /** Of the uncompressed file, up to its last row. */
  bytes: number
  /** From when it was sent on its way to its commit, ms. */
  ms: number
}

/** What an import needs around it. */
export interface ImportContext {
  db: Database
  storage: Storage
  settings: Settings<(typeof importSettings)[number]>
  log: Logger
  onBatch?: BatchObserver
  /** Aborts when the process shuts down: what is being read ends at once. */
  shutdown?: AbortSignal
}

/** What looking into a file needs. */
export interface FileContext extends Pick<ImportContext, 'db' | 'storage' | 'shutdown'> {
  settings: Settings<(typeof fileSettings)[number]>
}

/** What beginning an import needs. */
export interface RequestContext extends Pick<ImportContext, 'db' | 'storage'> {
  settings: Settings<'WAITING_IMPORTS_LIMIT'>
}

/** What receiving a file needs. */
export interface ReceiveContext extends FileContext, Pick<ImportContext, 'log'> {
  settings: Settings<(typeof receiveSettings)[number]>
}

/** Names one import. */
export interface ImportId {
  appId: number
  importId: string
}

/** Whether a text can be an import's ID. */
export function isImportId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

/** An import's file as it lies in storage. */
export interface StoredFile extends ImportId {
  objectKey: string
  contentType: ImportContentType
  /** ETag of the object when its upload was noticed. */
  etag: string | null
  /** MD5 of the file in base64; null if it is not known. It tells a replaced file from one that was uploaded twice. */
  checksum: string | null
}
