import type { SharedStore } from '@sluice/config'
import { openQueues, type Queues } from '@sluice/queue'
import type { ImportContext } from '../context.ts'
import { countWaiting } from './fair-order.ts'
import { type DispatchContext, dispatchNextInOrder } from './next-in-order.ts'

/** What dispatching imports needs. */
export interface Dispatcher {
  context: DispatchContext
  queues: Pick<Queues, 'add' | 'waiting'>
}

/**
 * Enqueues jobs for the imports that are next in order, in all apps or in one (design.md §4, No lost work). A job does
 * not bind its worker to one import: the worker claims the import that is first now (`claimNext`). An import that waits
 * for long is enqueued again only if jobs were lost.
 */
export async function dispatchImports({ context, queues }: Dispatcher, appId?: number): Promise<void> {
  const dispatched = await dispatchNextInOrder(context, appId)
  const repeated = dispatched.filter(({ again }) => again)
  const jobs = dispatched.filter(({ again }) => !again)
  if (repeated.length > 0) {
    const lost = (await countWaiting(context)) - jobs.length - (await queues.waiting('imports'))
    jobs.push(...repeated.slice(0, Math.max(0, lost)))
  }
  await queues.add(
    'imports',
    jobs.map((turn) => ({ id: turn.jobId, payload: { appId: turn.appId, importId: turn.importId } })),
  )
}

/** Wakes a worker for the import that is next in an app's order, if there is one. */
export type WakeWorker = (appId: number) => void

/**
 * Opens what a process calls when it has queued an import, so that a worker need not wait for the next run of
 * maintenance (changes.md §5). If a call fails, maintenance dispatches the import within a second. The queue opens with
 * the first call. Apps are dispatched one after the other, so a process needs one connection for this.
 */
export function openWaker(
  store: SharedStore,
  context: DispatchContext & Pick<ImportContext, 'log'>,
): { wake: WakeWorker; close(): Promise<void> } {
  const warn = (err: unknown) => context.log.warn({ err }, 'worker not woken')
  const queues = openQueues(store, warn)
  const waiting = new Set<number>()
  let dispatching: Promise<void> | undefined
  const dispatch = async () => {
    for (const appId of waiting) {
      waiting.delete(appId)
      await dispatchImports({ context, queues }, appId).catch(warn)
    }
    dispatching = undefined
  }
  return {
    wake(appId) {
      waiting.add(appId)
      dispatching ??= dispatch()
    },
    async close() {
      waiting.clear()
      await dispatching
      await queues.close()
    },
  }
}
