import { claimNext, returnTurn, runImport } from '@sluice/imports'
import { dispatch, enqueueNextMails } from './enqueue.ts'
import type { Host, Stop } from './host.ts'

/**
 * Runs imports. A job only says that one waits: which one runs is settled when a slot is free. A stop lets each finish its
 * batch and releases it, so that another worker goes on at once.
 */
export function hostImports(host: Host): Stop {
  const { context, queues, metrics, heartbeat } = host
  const shutdown = new AbortController()
  queues.work(
    'imports',
    async () => {
      if (shutdown.signal.aborted) return await returnTurn(context)
      const claim = await claimNext(context)
      if (claim === undefined) return
      const observed = { ...context, onBatch: metrics.onBatch }
      const ended = await heartbeat.during(claim.importId, () => runImport(observed, claim, shutdown.signal))
      metrics.importEnded(ended.outcome)
      // From here on nothing can be lost: maintenance would do the same within seconds.
      if ('mails' in ended) await enqueueNextMails(host, ended.mails)
      if (ended.outcome !== 'lost') await dispatch(host, claim.appId)
    },
    { concurrency: context.settings.IMPORT_CONCURRENCY },
  )
  return () => shutdown.abort()
}
