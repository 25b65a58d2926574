import type { MaintenanceContext } from '@sluice/bucket-uploads'
import type { DeletionContext } from '@sluice/deletions'
import type { ExportContext } from '@sluice/exports'
import type { ImportContext } from '@sluice/imports'
import type { Mailer } from '@sluice/mail'
import type { Heartbeat } from '@sluice/operations'
import type { Queues } from '@sluice/queue'
import type { Deliverer } from '@sluice/webhooks'
import type { WorkerMetrics } from './metrics.ts'

/** What the hosted queues of a worker process share. */
export interface Host {
  context: ImportContext &
    ExportContext &
    DeletionContext &
    MaintenanceContext & {
      settings: {
        S3_GATEWAY_SEARCH_INTERVAL: number
        HISTORY_RETENTION_DAYS: number
        IMPORT_CONCURRENCY: number
        UPLOAD_CHECK_INTERVAL: number
      }
    }
  queues: Queues
  mailer: Mailer
  /**
   * Undefined if this process does not host the webhooks queue. It then needs no key that decrypts the secrets of
   * webhooks.
   */
  deliverer: Deliverer | undefined
  metrics: WorkerMetrics
  heartbeat: Heartbeat
  /** Receives the errors of jobs and of maintenance, none of which is lost: the tables decide what is tried again. */
  onJobError: (error: Error) => void
}

/** Asks the jobs of a hosted queue to end. `Queues.close` then waits for them. */
export type Stop = () => void
