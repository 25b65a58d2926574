import { type ErrorRows, errorRows, type ImportDetails, showDetails, uncompressedSize } from '@sluice/imports'
import type { DashboardContext } from '../context.ts'

/** Rows of the error file that a page shows. */
export const shownErrorRows = 20

/** What an import's page shows, at one moment. */
export interface Snapshot {
  details: ImportDetails
  errors: ErrorRows
  /** Length of the uncompressed file, bytes, where it can be told. */
  totalBytes: number | undefined
  /** Rows a second; undefined where it does not run, or has hardly begun. */
  rowsPerSecond: number | undefined
  /** Until it is done, ms, if it goes on like this. */
  timeLeft: number | undefined
}

/** What remains as it is between two snapshots of an import, and need not be read again. */
export interface Known {
  totalBytes?: number | undefined
  errors?: ErrorRows
}

/**
 * Reads an import of an app; undefined where the app has none of this ID. Takes what an earlier snapshot has, which saves a
 * look into storage.
 */
export async function takeSnapshot(
  { db, storage, apiUrl, log }: Pick<DashboardContext, 'db' | 'storage' | 'apiUrl' | 'log'>,
  appId: number,
  importId: string,
  known: Known = {},
): Promise<Snapshot | undefined> {
  const details = await showDetails(db, apiUrl, appId, importId)
  if (details === undefined) return undefined
  // Storage that is away takes a table and a bar from the page, not the page.
  const orNothing = <Found>(looking: Promise<Found>, nothing: Found) =>
    looking.catch((error: unknown) => {
      log.warn({ err: error, import_id: importId }, 'storage did not answer for a page')
      return nothing
    })
  const runs = details.view.state === 'processing'
  const isFull = runs && known.errors !== undefined && known.errors.rows.length >= shownErrorRows
  const none: ErrorRows = { rows: [] }
  const [errors, totalBytes] = await Promise.all([
    isFull || details.view.rows_failed === 0
      ? (known.errors ?? none)
      : orNothing(errorRows({ db, storage }, { appId, importId }, shownErrorRows), none),
    runs ? (known.totalBytes ?? orNothing(uncompressedSize(storage, details), undefined)) : undefined,
  ])
  return { details, errors, totalBytes, ...speedOf(details, totalBytes) }
}

/** After less than this the figures would jump, ms. */
const shortest = 500

function speedOf(
  { view, tookMs, position }: ImportDetails,
  totalBytes: number | undefined,
): Pick<Snapshot, 'rowsPerSecond' | 'timeLeft'> {
  if (tookMs === null || tookMs < shortest || view.rows_total === 0)
    return { rowsPerSecond: undefined, timeLeft: undefined }
  const rowsPerSecond = view.rows_total / (tookMs / 1000)
  const left = view.state === 'processing' && totalBytes !== undefined ? totalBytes - position : -1
  return { rowsPerSecond, timeLeft: left < 0 || position === 0 ? undefined : (tookMs * left) / position }
}
