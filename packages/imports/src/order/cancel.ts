import type { ImportState } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { isImportId } from '../context.ts'

/** What became of a wish to cancel: an import that has ended otherwise stays as it is. */
export type Cancellation =
  | { outcome: 'cancelled' }
  | { outcome: 'unknown' }
  | { outcome: 'ended'; state: Exclude<ImportState, 'cancelled'> }

const cancellable = ['awaiting_upload', 'queued', 'processing'] as const

/**
 * Cancels an import that waits or runs; what it has applied stays. Repeating it changes nothing.
 *
 * It leaves the line in the statement that this runs, and its attempt is raised there: a batch under way is refused when it
 * is about to commit, and its worker lets go. Error file and mails follow (`report.ts`).
 *
 * Takes the app that the import must be of, if any.
 */
export async function cancelImport(db: Database, importId: string, appId?: number): Promise<Cancellation> {
  if (!isImportId(importId)) return { outcome: 'unknown' }
  for (;;) {
    const cancelled = await db
      .updateTable('imports')
      .set({
        state: 'cancelled',
        attempt: sql<number>`attempt + 1`,
        tries: 0,
        lease_until: null,
        retry_at: null,
        upload_check_at: null,
        finished_at: sql<Date>`now()`,
        report_due: true,
      })
      .where('import_id', '=', importId)
      .$if(appId !== undefined, (query) => query.where('app_id', '=', appId ?? 0))
      .where('state', 'in', cancellable)
      .executeTakeFirst()
    if (cancelled.numUpdatedRows > 0n) return { outcome: 'cancelled' }
    const found = await db
      .selectFrom('imports')
      .select('state')
      .where('import_id', '=', importId)
      .$if(appId !== undefined, (query) => query.where('app_id', '=', appId ?? 0))
      .executeTakeFirst()
    if (found === undefined) return { outcome: 'unknown' }
    if (found.state === 'cancelled') return { outcome: 'cancelled' }
    // An expired import may have been queued in between, by an upload that came late.
    if (!isCancellable(found.state)) return { outcome: 'ended', state: found.state }
  }
}

/** Whether an import in this state can be cancelled. */
export function isCancellable(state: ImportState): boolean {
  return cancellable.some((each) => each === state)
}
