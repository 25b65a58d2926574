import type { Settings } from '@sluice/config'
import type { Database } from '@sluice/database'
import { appPrefix, type Storage } from '@sluice/storage'
import type { Logger } from 'pino'

/** The settings that running exports needs. */
export const exportSettings = ['EXPORT_TIME_LIMIT', 'FILE_RETENTION_DAYS'] as const

/** What running and removing exports needs. */
export interface ExportContext {
  db: Database
  storage: Storage
  settings: Settings<(typeof exportSettings)[number]>
  log: Logger
  /** Aborts when the process shuts down. */
  shutdown?: AbortSignal
}

export interface ExportId {
  appId: number
  exportId: string
}

/**
 * Returns the key of an export's file in storage. Each attempt has its own key, so that a worker which lost its claim
 * cannot overwrite its successor's file.
 */
export function exportKey({ appId, exportId }: ExportId, attempt: number): string {
  return `${appPrefix(appId)}exports/${exportId}/${attempt}.csv.gz`
}
