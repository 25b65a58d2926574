import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { printable } from '@sluice/client-cli/printable'
import { lastLines, openLog } from '../log-file.ts'
import { waitForExit } from '../process-state.ts'
import { recordOutput } from './app-output.ts'
import type { Run } from './keep-running.ts'

/** An app that the stack runs, in processes of its own. */
export interface AppDefinition {
  /** The name of the app in its logs' names and in `stack.json`. */
  name: string
  /**
   * The absolute path of the file that Node runs. The app sends `{ type: 'ready' }` when it serves, and may add the URL
   * of its `metrics`.
   */
  entry: string
  count: number
  /** Variables for this app only. */
  env?: Readonly<Record<string, string>>
  /** Node's options for this app, such as memory limits. */
  nodeOptions?: readonly string[]
  /**
   * The settings of an app that listens. `{ prefix: 'API', port: 3000 }` means: it reads `API_HOST` and `API_PORT`, its
   * address is `API_URL`, and its default port is 3000.
   */
  web?: { prefix: string; port: number }
}

/** Options of {@link startApp}. */
export interface AppProcessOptions {
  /** The name in messages, such as `worker 2`. */
  name: string
  entry: string
  env: Readonly<Record<string, string | undefined>>
  nodeOptions: readonly string[]
  /** The file for all output of the app. */
  logFile: string
  /** Accepts warnings and errors that the app prints. */
  log(line: string): void
  /** Aborts the start. */
  signal: AbortSignal
}

/** A process of an app that is ready. */
export interface AppProcess extends Run {
  pid: number
  metrics: string | undefined
}

const readyMs = 60_000
/** Time that an app has to stop. An app that still runs is then killed. */
const stopMs = 15_000
/** For how long to wait for the last output of an app that failed. */
const lastOutputMs = 1000

/** The running apps. This process kills them if it ends without having stopped them, for example because of a crash. */
const living = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})

/**
 * Starts one process of an app and waits until it is ready. Throws with its last output if it ends or times out before.
 */
export async function startApp(options: AppProcessOptions): Promise<AppProcess> {
  options.signal.throwIfAborted()
  const logFile = await openLog(options.logFile)
  const { size: logStart } = await logFile.stat()
  const child = fork(options.entry, [], {
    env: options.env,
    execArgv: [...options.nodeOptions],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // In a process group of its own, the app does not get Ctrl-C from the terminal: this process stops the apps in
    // order.
    detached: true,
  })
  const exited = waitForExit(child)
  const recorded = recordOutput(child, logFile, (line) => options.log(`${options.name}: ${line}`))
  living.add(child)
  void exited.then(() => living.delete(child))

  const deadline = AbortSignal.any([options.signal, AbortSignal.timeout(readyMs)])
  const outcome = await Promise.race([ready(child, deadline), exited])
  if (typeof outcome === 'object' && child.pid !== undefined) {
    return { pid: child.pid, metrics: outcome.metrics, exited, stop: () => stop(child, exited) }
  }
  await stop(child, exited)
  options.signal.throwIfAborted()
  await Promise.race([recorded, delay(lastOutputMs, undefined, { ref: false })])
  // The output is indented, so that it cannot imitate a line of the stack.
  const output = (await lastLines(options.logFile, logStart, 20)).map((line) => `  ${printable(line)}`).join('\n')
  throw new Error(`${options.name} did not start: ${outcome} (${options.logFile})\n${output}`)
}

/** Returns the report of the app when it is ready, or a text if the signal aborts before. */
async function ready(child: ChildProcess, signal: AbortSignal): Promise<string | { metrics?: string }> {
  try {
    for (;;) {
      const [message] = await once(child, 'message', { signal })
      if (message?.type === 'ready') return message
    }
  } catch {
    return `not ready after ${readyMs / 1000} s`
  }
}

async function stop(child: ChildProcess, exited: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMs)
  await exited
  clearTimeout(timer)
}
