import { type ImportState, isUuid, unfinishedImportStates } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { ImportId } from '../context.ts'
import { changeState, stateOf } from '../states.ts'

/** Result of cancelling. An import that has ended in another state keeps that state. */
export type Cancellation =
  | { outcome: 'cancelled'; isNew: boolean }
  | { outcome: 'unknown' }
  | { outcome: 'ended'; state: Exclude<ImportState, 'cancelled'> }

/** What cancelling changes besides the state. */
const cancellation = {
  // A check has changed nothing, so nothing of it can be undone (changes.md §2, The decision).
  rows_changed: sql<number>`case when is_check then 0 else rows_changed end`,
  changes: sql<string>`case when is_check then '{}' else changes end`,
  changes_file_key: null,
  changes_file_secret: null,
  attempt: sql<number>`attempt + 1`,
  tries: 0,
  lease_until: null,
  retry_at: null,
  upload_check_at: null,
  finished_at: sql<Date>`now()`,
  report_due: true,
}

/**
 * Cancels an import that waits, runs or is held (design.md §3, Dry run, cancel). Committed batches stay applied.
 * Cancelling twice changes nothing.
 *
 * One statement takes the import out of the import order and raises its attempt. A batch in flight is then refused at
 * its commit, and the worker stops. Maintenance makes the error file and the mails (`report.ts`).
 */
export async function cancelImport(db: Database, { appId, importId }: ImportId): Promise<Cancellation> {
  if (!isUuid(importId)) return { outcome: 'unknown' }
  for (;;) {
    const cancelled = await changeState(db, unfinishedImportStates, 'cancelled')
      .set(cancellation)
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .executeTakeFirst()
    if (cancelled.numUpdatedRows > 0n) return { outcome: 'cancelled', isNew: true }
    const state = await stateOf(db, { appId, importId })
    if (state === undefined) return { outcome: 'unknown' }
    if (state === 'cancelled') return { outcome: 'cancelled', isNew: false }
    // If an import in this state can be cancelled, a late upload has queued the expired import between the two
    // statements. Try again.
    if (!isCancellable(state)) return { outcome: 'ended', state }
  }
}

/**
 * Cancels imports of any apps as {@link cancelImport} does, all in one statement: none of them starts because another
 * one is cancelled. Returns the IDs of the cancelled imports; the others had ended.
 */
export async function cancelImports(db: Database, imports: readonly ImportId[]): Promise<string[]> {
  // changes.md §6.
  const cancelled = await changeState(db, unfinishedImportStates, 'cancelled')
    .set(cancellation)
    .where('app_id', 'in', [...new Set(imports.map(({ appId }) => appId)), 0])
    .where(sql<boolean>`import_id = any(${imports.map(({ importId }) => importId)}::uuid[])`)
    .returning('import_id')
    .execute()
  return cancelled.map((row) => row.import_id)
}

/**
 * Cancels all unfinished imports of an app that is being deleted. They get no report, and the rows that they kept for
 * their error files are deleted with the app.
 */
export async function cancelImportsOfApp(tx: Database, appId: number): Promise<void> {
  await changeState(tx, unfinishedImportStates, 'cancelled')
    .set({ attempt: sql<number>`attempt + 1`, lease_until: null, retry_at: null, upload_check_at: null })
    .set({ finished_at: sql<Date>`now()`, error_bytes: 0, changes_bytes: 0, dispatched_at: null })
    .where('app_id', '=', appId)
    .execute()
  await tx
    .updateTable('imports')
    .set({ report_due: false, error_bytes: 0, changes_bytes: 0 })
    .where('app_id', '=', appId)
    .where('report_due', '=', true)
    .execute()
}

/** Returns whether an import in this state can be cancelled. */
export function isCancellable(state: ImportState): boolean {
  return unfinishedImportStates.some((each) => each === state)
}
