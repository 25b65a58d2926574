import { EventEmitter, once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Action, ActionName } from './actions.ts'
import { type Gate, startGate } from './gate.ts'

/** Someone who works on the database: a thread with modules and connections of its own, behind a gate. */
export interface Actor extends EventEmitter {
  gate: Gate
  /** The result of the action; undefined while it runs. */
  result: { value: unknown } | { error: string } | undefined
  /** The process IDs that its sessions in Postgres had when it died; undefined as long as it lives. */
  sessionsAtDeath: readonly number[] | undefined
  start<Name extends ActionName>(name: Name, argument: Action<Name>): void
  /** Ends the actor as the death of its process does. */
  kill(): Promise<void>
  close(): Promise<void>
}

export interface ActorSettings {
  /** The path of the bundled module of its thread. */
  module: string
  databaseUrl: string
  storage: Record<string, string>
  environment: Record<string, string>
}

/** Starts an actor, and opens its connections. */
export async function startActor(settings: ActorSettings): Promise<Actor> {
  const url = new URL(settings.databaseUrl)
  const gate = await startGate({ host: url.hostname, port: Number(url.port) })
  url.hostname = '127.0.0.1'
  url.port = String(gate.port)
  const thread = new Worker(settings.module, {
    workerData: { ...settings, databaseUrl: url.href },
    execArgv: [],
  })
  const actor: Actor = Object.assign(new EventEmitter(), {
    gate,
    result: undefined as Actor['result'],
    sessionsAtDeath: undefined as Actor['sessionsAtDeath'],
    start(name: string, argument: unknown) {
      actor.result = undefined
      thread.postMessage({ name, argument })
    },
    async kill() {
      actor.sessionsAtDeath = [...gate.connections].map(({ pid }) => pid)
      for (const connection of gate.connections) connection.cut()
      await Promise.all([thread.terminate(), gate.close()])
    },
    async close() {
      if (actor.sessionsAtDeath !== undefined) return
      thread.postMessage({ name: 'end' })
      await once(thread, 'exit')
      await gate.close()
    },
  })
  thread.on('message', (result: Actor['result']) => {
    actor.result = result
    gate.emit('change')
  })
  thread.on('error', (error) => {
    actor.result = { error: String(error) }
    gate.emit('change')
  })
  actor.start('warmUp', undefined as never)
  while (actor.result === undefined) await once(gate, 'change')
  if ('error' in actor.result) throw new Error(actor.result.error)
  return actor
}
