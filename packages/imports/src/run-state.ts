import type { MailId } from '@sluice/mail'
import type { BatchSize } from './batch/batch-size.ts'
import type { Progress } from './order/claim.ts'
import type { Lease } from './order/lease.ts'

/** How a claim ended. */
export type Outcome =
  /** The import has ended. */
  | { outcome: 'completed' | 'failed'; mails: MailId[] }
  /**
   * The import waits for a worker again: after an error that may pass (`postponed`), because this worker shuts down
   * (`interrupted`), or because its slice is over or imports are paused (`released`).
   */
  | { outcome: 'postponed' | 'interrupted' | 'released' }
  /** Another worker has the import (`lost`), or somebody cancelled it. */
  | { outcome: 'lost' | 'cancelled' }

/** What changes while a worker runs a claim. */
export interface RunState {
  progress: Progress
  /** Claims since the last committed batch. */
  tries: number
  lease: Lease
  batchSize: BatchSize
}

/** Returns the counters of an import for its log lines. */
export function rowCounts(progress: Progress) {
  return { rows_total: progress.rowsTotal, rows_applied: progress.rowsApplied, rows_failed: progress.rowsFailed }
}
