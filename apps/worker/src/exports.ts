import { claimExport, runExport } from '@sluice/exports'
import type { Host, Stop } from './host.ts'

/**
 * Number of exports that a worker runs at a time. An app has one export at a time, so it never holds all slots of a
 * worker.
 */
const concurrentExports = 2

/**
 * Runs exports. A job only says that some export waits; the worker claims the export that is first in the fair order.
 * The stop releases the claim, and another worker begins the export again.
 */
export function hostExports({ context, queues, metrics }: Host): Stop {
  const shutdown = new AbortController()
  queues.work(
    'exports',
    async () => {
      const claim = shutdown.signal.aborted ? undefined : await claimExport(context)
      if (claim !== undefined) metrics.exportEnded(await runExport(context, claim, shutdown.signal))
    },
    { concurrency: concurrentExports },
  )
  return () => shutdown.abort()
}
