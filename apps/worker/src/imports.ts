import { claimNext, dispatchImports, runImport, withdrawNext } from '@sluice/imports'
import { dispatchNextMails } from './dispatch.ts'
import type { Host, Stop } from './host.ts'

/**
 * Runs imports. A job only says that some import waits; the worker chooses the import when it has a free slot. The stop
 * lets each import finish its batch and releases its claim, so that another worker continues at once.
 */
export function hostImports(host: Host): Stop {
  const { context, queues, metrics, heartbeat } = host
  const shutdown = new AbortController()
  queues.work(
    'imports',
    async () => {
      if (shutdown.signal.aborted) return await withdrawNext(context)
      const claim = await claimNext(context)
      if (claim === undefined) return
      const observed = { ...context, onBatch: metrics.onBatch }
      const ended = await heartbeat.during(claim.importId, () => runImport(observed, claim, shutdown.signal))
      metrics.importEnded(ended.outcome)
      // A failure from here on loses nothing: maintenance does the same within seconds.
      if ('mails' in ended) await dispatchNextMails(host, ended.mails)
      if (ended.outcome !== 'lost') await dispatchImports(host, claim.appId)
    },
    { concurrency: context.settings.IMPORT_CONCURRENCY },
  )
  return () => shutdown.abort()
}
