import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client'
import type { BatchObserver } from '@sluice/imports'
import type { Metrics } from '@sluice/service'

/** Counts a worker's own work. */
export interface WorkerMetrics {
  onBatch: BatchObserver
  /** Records how a claim of an import ended. */
  importEnded(outcome: string): void
  /** Records how a claim of an export ended. */
  exportEnded(outcome: string): void
  /** Records how an attempt to send a mail ended. */
  mailTried(outcome: string): void
  /** Records how an attempt to send a webhook delivery ended. */
  deliveryTried(outcome: string): void
  /** Records deletion requests that maintenance completed, and how many registered users it deleted. */
  deleted(requests: number, users: number): void
  /** Records how a run of a maintenance task ended, and its duration. */
  maintenanceRan(task: string, outcome: 'done' | 'failed', ms: number): void
}

/** Registers a worker's metrics among the metrics of its process. Returns the functions that record them. */
export function openWorkerMetrics({ registry }: Metrics): WorkerMetrics {
  const counter = countersOf(registry)
  const rows = counter('sluice_import_rows_total', 'Rows of committed batches, by what became of them', 'outcome')
  const bytes = counter('sluice_import_bytes_total', 'Bytes of uncompressed files, up to the last committed row')
  const batches = new Histogram({
    name: 'sluice_import_batch_duration_seconds',
    help: 'Time from the sending of a batch to its commit',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  const claims = counter('sluice_import_claims_total', 'Claims that ended, by how', 'outcome')
  const exports = counter('sluice_export_claims_total', 'Claims of exports that ended, by how', 'outcome')
  const mails = counter('sluice_mail_attempts_total', 'Attempts to send a mail, by how they ended', 'outcome')
  const deliveries = counter(
    'sluice_webhook_attempts_total',
    'Attempts to send a webhook delivery, by how they ended',
    'outcome',
  )
  const requests = counter('sluice_deletion_requests_completed_total', 'Deletion requests that this process completed')
  const users = counter('sluice_deleted_users_total', 'Registered users that this process deleted')
  return {
    onBatch({ rowsApplied, rowsFailed, bytes: size, ms }) {
      rows.inc({ outcome: 'applied' }, rowsApplied)
      rows.inc({ outcome: 'failed' }, rowsFailed)
      bytes.inc(size)
      batches.observe(ms / 1000)
    },
    importEnded: (outcome) => claims.inc({ outcome }),
    exportEnded: (outcome) => exports.inc({ outcome }),
    mailTried: (outcome) => mails.inc({ outcome: outcome.replaceAll(' ', '_') }),
    deliveryTried: (outcome) => deliveries.inc({ outcome: outcome.replaceAll(' ', '_') }),
    deleted(completed, deletedUsers) {
      requests.inc(completed)
      users.inc(deletedUsers)
    },
    maintenanceRan: openMaintenanceMetrics(registry),
  }
}

function openMaintenanceMetrics(registry: Registry): WorkerMetrics['maintenanceRan'] {
  const counter = countersOf(registry)
  const runs = counter(
    'sluice_maintenance_runs_total',
    'Runs of maintenance tasks, by how they ended',
    'task',
    'outcome',
  )
  const seconds = counter('sluice_maintenance_seconds_total', 'Time that runs of maintenance tasks took', 'task')
  const lastDone = new Gauge({
    name: 'sluice_maintenance_last_done_timestamp_seconds',
    help: 'When a maintenance task last ended well in this process',
    labelNames: ['task'],
    registers: [registry],
  })
  return (task, outcome, ms) => {
    runs.inc({ task, outcome })
    seconds.inc({ task }, ms / 1000)
    if (outcome === 'done') lastDone.setToCurrentTime({ task })
  }
}

function countersOf(registry: Registry) {
  return <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
}
