import { claimImport, returnTurn, runImport } from '@sluice/imports'
import { dispatch, enqueueMails } from './enqueue.ts'
import type { Host, Stop } from './host.ts'

/** Runs imports. A stop lets each finish its batch and hands it back, so that another worker goes on at once. */
export function hostImports(host: Host): Stop {
  const { context, queues, metrics, heartbeat } = host
  const shutdown = new AbortController()
  queues.work(
    'imports',
    async (id) => {
      if (shutdown.signal.aborted) return await returnTurn(context, id)
      const claim = await claimImport(context, id)
      if (claim === undefined) return
      const observed = { ...context, onBatch: metrics.onBatch }
      const ended = await heartbeat.during(id.importId, () => runImport(observed, claim, shutdown.signal))
      metrics.importEnded(ended.outcome)
      // From here on nothing can be lost: upkeep would do the same within seconds.
      if ('mails' in ended) await enqueueMails(host, ended.mails)
      if (ended.outcome !== 'lost') await dispatch(host, id.appId)
    },
    { concurrency: context.settings.IMPORT_CONCURRENCY },
  )
  return () => shutdown.abort()
}
