// The thread of an actor: runs one action at a time, with connections of its own.
import { parentPort, workerData } from 'node:worker_threads'
import { openActions } from './actions.ts'
import type { ActorSettings } from './actor.ts'

const port = parentPort
if (port === null) throw new Error('this module runs in a thread only')

const actions = await openActions(workerData as ActorSettings)

port.on('message', ({ name, argument }: { name: string; argument: unknown }) => {
  if (name === 'end') {
    void actions.close().then(() => port.close())
    return
  }
  actions.run(name, argument).then(
    (value) => port.postMessage({ value }),
    (error: unknown) =>
      port.postMessage({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }),
  )
})
