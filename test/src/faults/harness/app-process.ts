import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { killAtExit, nodeEnvironment } from '../../environment/program.ts'

export interface LogLine {
  pid: number
  level: string
  /** ISO 8601. */
  time: string
  msg: string
  app_id?: number
  import_id?: string
  attempt?: number
  err?: { type?: string; message?: string }
  retry_in_ms?: number
  outage?: boolean
}

export interface AppProcess {
  pid: number
  /** When it was ready, on the clock of `performance.now()`. */
  readyAt: number
  /** What the process reported when it was ready, such as its address. */
  info: Record<string, unknown>
  /** Resolves with the exit code, or with the signal that ended the process. */
  exited: Promise<number | NodeJS.Signals>
  kill(signal: NodeJS.Signals): void
  /** Sends a word to the process, and returns its next message of this type. */
  ask(type: string): Promise<Record<string, unknown>>
}

export interface AppOptions {
  app: 'api' | 'worker' | 'dashboard' | 's3-gateway'
  env: Record<string, string>
  nodeOptions?: readonly string[]
  /** A command that runs Node, such as `ip netns exec <name>`. It must replace itself by Node. */
  within?: readonly string[]
  /** Folder of another release's repository. Defaults to this repository. */
  root?: string
  log(line: LogLine): void
  /** Receives all that the process writes, as it is. */
  output?(chunk: Buffer): void
}

const repository = fileURLToPath(new URL('../../../..', import.meta.url))

/**
 * Starts a process of an app, as a deployment would, and waits until it is ready. Throws if the process ends before it
 * is ready.
 */
export async function startApp({
  app,
  env,
  nodeOptions = [],
  within = [],
  root = repository,
  log,
  output,
}: AppOptions): Promise<AppProcess> {
  const [execPath = process.execPath, ...execArgv] = [...within, process.execPath, ...nodeOptions]
  const child = fork(join(root, 'apps', app, 'src', 'main.ts'), [], {
    env: { ...nodeEnvironment, ...env },
    execPath,
    execArgv,
    // The process stops when the channel closes, so that a killed test run leaves nothing running.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  killAtExit(child)
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  if (output !== undefined) for (const stream of [child.stdout, child.stderr]) stream?.on('data', output)
  let errorOutput = ''
  child.stderr?.on('data', (chunk) => {
    errorOutput = `${errorOutput}${chunk}`.slice(-4000)
  })
  if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => readLine(line, log))
  const outcome = await Promise.race([messageOf(child, 'ready'), exited])
  if (typeof outcome !== 'object') throw new Error(`${app} ended before it was ready (${outcome}): ${errorOutput}`)
  return {
    pid: child.pid ?? 0,
    readyAt: performance.now(),
    info: outcome,
    exited,
    kill: (signal) => void child.kill(signal),
    ask: (type) => {
      child.send(type)
      return messageOf(child, type)
    },
  }
}

async function messageOf(child: ChildProcess, type: string): Promise<Record<string, unknown>> {
  for (;;) {
    const [message] = await once(child, 'message')
    if (message?.type === type) return message
  }
}

/** Parses a line and passes it to `log`. Ignores other output, and the truncated last line of a killed process. */
function readLine(line: string, log: (line: LogLine) => void): void {
  try {
    log(JSON.parse(line))
  } catch {
    // Not a line of the log.
  }
}
