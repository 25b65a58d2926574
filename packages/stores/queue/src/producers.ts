import type { Backend, OpenQueue } from './backend.ts'
import type { QueueName } from './payloads.ts'

/** Opens the producing side of the queues. Each queue opens at its first use. */
export function openProducers(backend: Backend, onError: (error: Error) => void) {
  const queues = new Map<QueueName, OpenQueue>()
  const openQueue = (name: QueueName) => {
    const queue = backend.queue(name)
    queue.on('error', onError)
    queues.set(name, queue)
    return queue
  }
  return {
    /** Runs `job` on a queue. Returns its result. */
    async use<Result>(name: QueueName, job: (queue: OpenQueue) => Promise<Result>): Promise<Result> {
      const queue = queues.get(name) ?? openQueue(name)
      try {
        return await job(queue)
      } catch (error) {
        // A queue that was opened while its store was unreachable fails forever. Therefore the next use opens a new
        // queue.
        queue.waitUntilReady().catch(() => {
          if (queues.get(name) === queue) queues.delete(name)
          queue.close().catch(() => {})
        })
        throw error
      }
    },
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()))
    },
  }
}
