import { queueNames, type SharedStore } from '@sluice/config'
import { Queue } from 'bullmq'
import { openBackend } from './backend.ts'

/**
 * Opens every queue for people to look at and to handle by hand, as BullMQ's own objects: boards are made for those. `onError`
 * gets errors of connections. Throws where the store is away.
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
  // On either backend they are subclasses of this class, whose type speaks of Redis alone.
  return queues.filter((queue) => queue instanceof Queue)
}
