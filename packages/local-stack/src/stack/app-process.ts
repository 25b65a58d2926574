import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { lastLines, openLog } from '../log-file.ts'
import { printable } from '../printable.ts'
import { howItEnds } from '../process-state.ts'
import { recordOutput } from './app-output.ts'
import type { Run } from './keep-running.ts'

/** An app that the stack runs, in processes of its own. */
export interface AppDefinition {
  /** Names its logs, and its processes in `stack.json`. */
  name: string
  /** The file that Node runs, an absolute path. It sends `{ type: 'ready' }` once it serves. */
  entry: string
  /** Number of processes. */
  count: number
  /** Variables for this app only. */
  env?: Readonly<Record<string, string>>
  /** Options of Node for this app, such as limits of its memory. */
  nodeOptions?: readonly string[]
  /**
   * An app that listens: `{ prefix: 'API', port: 3000 }` says that it reads `API_HOST` and `API_PORT`, and that its
   * address is `API_URL`; `port` is the default.
   */
  web?: { prefix: string; port: number }
}

/** What {@link startApp} takes. */
export interface AppProcessOptions {
  /** In messages, such as `worker 2`. */
  name: string
  entry: string
  env: Readonly<Record<string, string | undefined>>
  nodeOptions: readonly string[]
  /** Where everything goes that the app prints. */
  logFile: string
  /** Takes warnings and errors that the app prints. */
  log(line: string): void
  /** Gives the start up. */
  signal: AbortSignal
}

/** A process of an app that is ready. */
export interface AppProcess extends Run {
  pid: number
}

const READY_MS = 60_000
/** An app that takes longer to end is killed. */
const STOP_MS = 15_000
/** How long the last words of an app that failed may take to arrive. */
const WORDS_MS = 1000

/** Where this process ends without having ended the apps, by a crash or by force, they end with it. */
const living = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})

/** Starts one process of an app and waits until it is ready. Throws with its last words where it ends before. */
export async function startApp(options: AppProcessOptions): Promise<AppProcess> {
  options.signal.throwIfAborted()
  const logFile = await openLog(options.logFile)
  const { size: logStart } = await logFile.stat()
  const child = fork(options.entry, [], {
    env: options.env,
    execArgv: [...options.nodeOptions],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // In a process group of its own: Ctrl-C in a terminal is for this process, which ends the apps in order.
    detached: true,
  })
  const exited = howItEnds(child)
  const recorded = recordOutput(child, logFile, (line) => options.log(`${options.name}: ${line}`))
  living.add(child)
  void exited.then(() => living.delete(child))

  const limit = AbortSignal.any([options.signal, AbortSignal.timeout(READY_MS)])
  const outcome = await Promise.race([ready(child, limit), exited])
  if (outcome === 'ready' && child.pid !== undefined) {
    return { pid: child.pid, exited, stop: () => stop(child, exited) }
  }
  await stop(child, exited)
  options.signal.throwIfAborted()
  await Promise.race([recorded, delay(WORDS_MS, undefined, { ref: false })])
  // Indented: no line of theirs looks like one of ours.
  const words = (await lastLines(options.logFile, logStart, 20)).map((line) => `  ${printable(line)}`).join('\n')
  throw new Error(`${options.name} did not start: ${outcome} (${options.logFile})\n${words}`)
}

/** Settles with `ready` when the app says so; with something else when the signal aborts before. */
async function ready(child: ChildProcess, signal: AbortSignal): Promise<string> {
  try {
    for (;;) {
      const [message] = await once(child, 'message', { signal })
      if (message?.type === 'ready') return 'ready'
    }
  } catch {
    return `not ready after ${READY_MS / 1000} s`
  }
}

async function stop(child: ChildProcess, exited: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const impatient = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(impatient)
}
