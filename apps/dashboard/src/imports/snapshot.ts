import { decisionsOn } from '@sluice/audit-log'
import {
  type ChangedValue,
  changedValues,
  type ErrorRows,
  errorRows,
  type ImportDetails,
  type ImportSummary,
  showDetails,
  uncompressedSize,
} from '@sluice/imports'
import type { DashboardContext } from '../context.ts'

/** Maximum number of rows of the error file that a page shows. */
export const shownErrorRows = 20

/** Maximum number of lines of the changes file that a page shows. */
const shownChanges = 20

/** The data of an import's page at one moment. */
export interface Snapshot {
  details: ImportDetails
  errors: ErrorRows
  /** The first lines of the changes file; none before the import has ended. */
  changes: readonly ChangedValue[]
  /** Who approved or cancelled the import. */
  decisions: Awaited<ReturnType<typeof decisionsOn>>
  /** Length of the uncompressed file; undefined if it is not known. */
  totalBytes: number | undefined
  /** Average speed; undefined if the import has not started, or has only just started. */
  rowsPerSecond: number | undefined
  /** Estimated time until the end, at the average speed. */
  timeLeftMs: number | undefined
}

/** Data of an earlier snapshot that does not change, and need not be read again. */
export interface Known {
  totalBytes?: number | undefined
  errors?: ErrorRows
}

/**
 * Reads a snapshot of an import. Returns undefined if the app has no import with this ID. `known` is an earlier
 * snapshot, which saves requests to storage.
 */
export async function takeSnapshot(
  { db, storage, apiUrl, log }: Pick<DashboardContext, 'db' | 'storage' | 'apiUrl' | 'log'>,
  appId: number,
  importId: string,
  known: Known = {},
): Promise<Snapshot | undefined> {
  const details = await showDetails(db, apiUrl, appId, importId)
  if (details === undefined) return undefined
  const orDefault = <Found>(reading: Promise<Found>, fallback: Found) =>
    orFallback({ log, importId }, reading, fallback)
  const runs = details.view.state === 'processing'
  const isFull = runs && known.errors !== undefined && known.errors.rows.length >= shownErrorRows
  const none: ErrorRows = { rows: [] }
  const hasChanges = details.view.changes_file_url !== null
  const [errors, totalBytes, changes, decisions] = await Promise.all([
    isFull || details.view.rows_failed === 0
      ? (known.errors ?? none)
      : orDefault(errorRows({ db, storage }, { appId, importId }, shownErrorRows), none),
    known.totalBytes ?? readTotalBytes({ storage, log }, details),
    hasChanges ? orDefault(changedValues({ db, storage }, { appId, importId }, shownChanges), []) : [],
    decisionsOn(db, appId, details.view.import_id),
  ])
  return { details, errors, changes, decisions, totalBytes, ...speedOf(details, totalBytes) }
}

/** Returns the length of a running import's uncompressed file; undefined if it is not known, or no longer needed. */
export async function readTotalBytes(
  { storage, log }: Pick<DashboardContext, 'storage' | 'log'>,
  file: Parameters<typeof uncompressedSize>[1] & { view: ImportSummary },
): Promise<number | undefined> {
  if (file.view.state !== 'processing') return undefined
  return await orFallback({ log, importId: file.view.import_id }, uncompressedSize(storage, file), undefined)
}

/** During an outage of storage, a page lacks a table and a progress bar, but still works. */
async function orFallback<Found>(
  { log, importId }: Pick<DashboardContext, 'log'> & { importId: string },
  reading: Promise<Found>,
  fallback: Found,
): Promise<Found> {
  return await reading.catch((error: unknown) => {
    log.warn({ err: error, import_id: importId }, 'storage did not answer for a page')
    return fallback
  })
}

/** Returns the whole percents of a file that are read; undefined if its length is not known. */
export function percentRead(position: number, totalBytes: number | undefined): number | undefined {
  // The trailer of a gzip file with several members states only the size of the last one, so the total may be wrong.
  if (totalBytes === undefined || position > totalBytes || totalBytes === 0) return undefined
  return Math.floor((position / totalBytes) * 100)
}

/** Figures of shorter runs would fluctuate too much. */
const shortestRunMs = 500

function speedOf(
  { view, tookMs, position }: ImportDetails,
  totalBytes: number | undefined,
): Pick<Snapshot, 'rowsPerSecond' | 'timeLeftMs'> {
  if (tookMs === null || tookMs < shortestRunMs || view.rows_total === 0)
    return { rowsPerSecond: undefined, timeLeftMs: undefined }
  const rowsPerSecond = view.rows_total / (tookMs / 1000)
  const bytesLeft = view.state === 'processing' && totalBytes !== undefined ? totalBytes - position : -1
  return { rowsPerSecond, timeLeftMs: bytesLeft < 0 || position === 0 ? undefined : (tookMs * bytesLeft) / position }
}
