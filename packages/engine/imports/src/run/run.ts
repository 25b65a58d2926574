import type { Batches } from '@sluice/batches'
import type { MailId } from '@sluice/mail'
import type { ImportContext } from '../context.ts'
import type { ClaimedImport, Progress } from '../order/claim.ts'
import type { Lease } from '../order/lease.ts'

/** How a claim ended. */
export type Outcome =
  /** The import has ended. */
  | { outcome: 'completed' | 'failed'; mails: MailId[] }
  /** The check found more than the bounds allow. */
  | { outcome: 'held'; mails: MailId[] }
  /**
   * The import waits for a worker again: after an error that may pass (`postponed`), because this worker shuts down
   * (`interrupted`), or because its slice is over or imports are paused (`released`).
   */
  | { outcome: 'postponed' | 'interrupted' | 'released' }
  /** Another worker has the import (`lost`), or somebody cancelled it. */
  | { outcome: 'lost' | 'cancelled' }

/** An import that a worker runs, and what changes meanwhile. */
export interface Run {
  readonly context: ImportContext
  readonly claim: ClaimedImport
  readonly lease: Lease
  /** As of the last committed batch. */
  progress: Progress
  /** Claims since the last committed batch. */
  tries: number
  /** Undefined until the file is opened. */
  batches: Batches | undefined
}

/** Returns the counters of an import for its log lines. */
export function rowCounts({ progress }: Run) {
  return { rows_total: progress.rowsTotal, rows_applied: progress.rowsApplied, rows_failed: progress.rowsFailed }
}
