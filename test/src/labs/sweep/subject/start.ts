import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { memoryLimits } from '@sluice/local-stack'
import { killAtExit, nodeEnvironment } from '../../../environment/program.ts'
import type { TaskAnswer, TaskRequest } from './tasks.ts'

export interface Subject {
  /** Address of the process's API, if it hosts the API. */
  apiUrl: string | undefined
  /** Port of the process's S3 gateway, if it hosts the S3 gateway. */
  gatewayPort: number | undefined
  /** Resolves when the process has ended, however it ended. */
  exited: Promise<unknown>
  hasExited(): boolean
  kill(signal: NodeJS.Signals): void
  /** Runs a maintenance task. Resolves when the task has ended, also if it failed or the process is dead. */
  run(task: string): Promise<void>
  /** Returns the last characters of the process's log, which explain a violation. */
  log(): string
}

/** How much of the log is kept, characters. */
const keptLog = 8_000

/** Starts a process from the bundle, and waits until all its apps are ready. Throws if it ends before. */
export async function startSubject(entry: string, env: Record<string, string>): Promise<Subject> {
  const child = fork(entry, [], {
    // The bundle is new in each sweep, so its compiled code must not stay either.
    env: { ...nodeEnvironment, NODE_COMPILE_CACHE: join(dirname(entry), 'compiled'), ...env },
    execArgv: [...memoryLimits.worker],
    // A session of its own: a worker lowers the priority of its session, which must not slow the sweep and its servers.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  killAtExit(child)
  let hasExited = false
  const exited = once(child, 'exit').then(() => {
    hasExited = true
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      log = `${log}${chunk}`.slice(-keptLog)
    })
  }
  // A message to a process that has just died fails. The end of the process is noticed anyway.
  child.on('error', () => {})
  const ready = await Promise.race([allReady(child), exited])
  if (ready === undefined) throw new Error(`the process under test did not start: ${log}`)
  return {
    ...ready,
    exited,
    hasExited: () => hasExited,
    kill: (signal) => void child.kill(signal),
    run: (task) => Promise.race([runTask(child, task), exited]),
    log: () => log,
  }
}

/** Collects the reports of the apps until all of them are ready. Several reports may arrive at one moment. */
function allReady(child: ChildProcess): Promise<Pick<Subject, 'apiUrl' | 'gatewayPort'>> {
  const ready: Pick<Subject, 'apiUrl' | 'gatewayPort'> = { apiUrl: undefined, gatewayPort: undefined }
  return new Promise((resolve) => {
    child.on('message', (message: { type: string; url?: string; address?: { port: number } }) => {
      ready.apiUrl ??= message.url
      ready.gatewayPort ??= message.address?.port
      if (message.type === 'all ready') resolve(ready)
    })
  })
}

let requests = 0

async function runTask(child: ChildProcess, task: string): Promise<void> {
  const request: TaskRequest = { task, number: ++requests }
  const answered = Promise.withResolvers<void>()
  const onMessage = (answer: TaskAnswer) => {
    if (answer.number === request.number) answered.resolve()
  }
  child.on('message', onMessage)
  child.send(request, () => {})
  await answered.promise
  child.off('message', onMessage)
}
