// The thread of an actor: runs one operation at a time, with connections of its own.
import { parentPort, workerData } from 'node:worker_threads'
import type { ActorSettings } from './actor.ts'
import { openOperations } from './operations.ts'

const port = parentPort
if (port === null) throw new Error('this module runs in a thread only')

const operations = await openOperations(workerData as ActorSettings)

port.on('message', ({ name, argument }: { name: string; argument: unknown }) => {
  if (name === 'end') {
    void operations.close().then(() => port.close())
    return
  }
  operations.run(name, argument).then(
    (value) => port.postMessage({ value }),
    (error: unknown) =>
      port.postMessage({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }),
  )
})
