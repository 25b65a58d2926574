import { queueNames, type SharedStore } from '@sluice/config'
import { Queue } from 'bullmq'
import { openBackend } from './backend.ts'

/**
 * Opens every queue as BullMQ's own objects, which a board for operators requires. `onError` receives errors of
 * connections. Throws if the store is unreachable.
 */
export async function openBoardQueues(store: SharedStore, onError: (error: Error) => void): Promise<Queue[]> {
  const backend = openBackend(store)
  const queues = queueNames.map((name) => {
    const queue = backend.queue(name)
    queue.on('error', onError)
    return queue
  })
  try {
    await Promise.all(queues.map((queue) => queue.waitUntilReady()))
  } catch (error) {
    await Promise.all(queues.map((queue) => queue.close().catch(() => {})))
    throw error
  }
  // On both backends the objects are subclasses of BullMQ's Queue. Its published type describes only Redis.
  return queues.filter((queue) => queue instanceof Queue)
}
