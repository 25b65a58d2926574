import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { connect, type Database } from '@sluice/database'
import { readStackInfo, type StackInfo } from '@sluice/local-stack'
import { until } from '../environment/wait.ts'
import { processTree, signal, stillRunning } from './processes.ts'

const appEntry = (app: string) => fileURLToPath(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url))
const ports = [
  'API_PORT',
  'DASHBOARD_PORT',
  'S3_GATEWAY_PORT',
  'STORAGE_PORT',
  'INBOX_PORT',
  'SMTP_PORT',
  'POSTGRES_PORT',
]
const anyPorts = Object.fromEntries(ports.map((name) => [name, '0']))

export interface StackOptions {
  /** Worker processes; 1 where it is left out. */
  workers?: number
  /** Redis for the queues; they live in Postgres where it is left out. */
  redisUrl?: string
  /** Further settings, as environment variables. */
  env?: Record<string, string>
  /** Folder that an earlier stack left; a new one where it is left out. */
  home?: string
}

/** What a process needs of this one's environment to run as fast as it did. */
const ofNode = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }

/** What a command printed, and its exit code. */
export interface CommandResult {
  code: number | null
  /** The JSON document on stdout; undefined where there is nothing on stdout. */
  json: unknown
  stderr: string
}

/** A mail as the inbox shows it (design.md §2). */
interface Mail {
  to: string[]
  subject: string
  text: string
  html: string
  received_at: string
}

/** What `npm start` runs, in a folder of its own. */
export interface RunningStack {
  home: string
  /** Address of the API. */
  api: string
  db: Database
  /** What `stack.json` says at this moment. */
  info(): Promise<StackInfo>
  /** Runs a command of `sluice` with `--json` on this stack. */
  sluice(...args: string[]): Promise<CommandResult>
  /** The same with something on stdin. */
  pipeToSluice(input: string | Readable, ...args: string[]): Promise<CommandResult>
  /** The mails that came so far for an address, newest first. */
  mailsTo(email: string): Promise<Mail[]>
  /** Ends it as Ctrl-C does, keeping the folder. Throws unless the exit code is 0 and every process has ended. */
  terminate(): Promise<void>
  /** Ends the supervisor, the apps and Postgres with SIGKILL, keeping the folder. */
  crash(): Promise<void>
  /** Ends it as {@link terminate} does, unless it has ended, and removes the folder. */
  stop(): Promise<void>
}

/**
 * Starts the app behind `npm start` in a temporary folder, on free ports, and waits until it is ready. It reads nothing of
 * the caller's environment, and ends when the caller's process does, however that ends.
 */
export async function startStack(options: StackOptions = {}): Promise<RunningStack> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), 'sluice-stack-')))
  const child = spawnStack(home, options)
  try {
    await ready(child)
  } catch (error) {
    child.kill('SIGKILL')
    await rm(home, { recursive: true, force: true })
    throw error
  }
  const info = () => infoOf(home)
  const { api, database, inbox } = await info()
  const { db, close } = connect(database, { connections: 2 })
  const ended = () => child.exitCode !== null || child.signalCode !== null

  const stack: RunningStack = {
    home,
    api,
    db,
    info,
    sluice: (...args) => runCommand(home, '', args),
    pipeToSluice: (input, ...args) => runCommand(home, input, args),
    async mailsTo(email) {
      const mails = (await (await fetch(`${inbox}/api/mails`)).json()) as Mail[]
      return mails.filter(({ to }) => to.includes(email))
    },
    async terminate() {
      await close()
      const processes = await processTree(child.pid ?? 0)
      child.kill('SIGTERM')
      if (!ended()) await once(child, 'exit')
      assert.deepEqual([child.exitCode, child.signalCode], [0, null], 'the stack ended with')
      assert.deepEqual(await stillRunning(processes), [], 'the stack left processes')
    },
    async crash() {
      await close()
      const processes = await processTree(child.pid ?? 0)
      for (const pid of processes) signal(pid, 'SIGKILL')
      await until('the end of all processes', async () => (await stillRunning(processes)).length === 0)
    },
    async stop() {
      try {
        if (!ended()) await stack.terminate()
      } finally {
        child.kill('SIGKILL') // does nothing to what has ended
        await rm(home, { recursive: true, force: true, maxRetries: 5 })
      }
    },
  }
  return stack
}

/** Starts the app behind `npm start` on a folder without waiting for anything. */
export function spawnStack(home: string, { workers = 1, redisUrl, env = {} }: StackOptions = {}): ChildProcess {
  const settings = { ...anyPorts, WORKERS: String(workers), ...(redisUrl && { REDIS_URL: redisUrl }), ...env }
  const child = spawn(process.execPath, [appEntry('local')], {
    env: { ...ofNode, SLUICE_HOME: home, ...settings },
    // It stops when this channel closes: a test run that is killed leaves nothing running.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}

/** Waits for the line `ready`. Throws with what the process said where it ends before. */
async function ready(child: ChildProcess): Promise<void> {
  assert(child.stdout && child.stderr)
  const complaints = text(child.stderr)
  for await (const line of createInterface({ input: child.stdout })) if (line === 'ready') return
  throw new Error(`the stack ended before it was ready: ${await complaints}`)
}

async function infoOf(home: string): Promise<StackInfo> {
  const info = await readStackInfo(home)
  assert(info, `no stack is ready on ${home}`)
  return info
}

async function runCommand(home: string, input: string | Readable, args: string[]): Promise<CommandResult> {
  const child = spawn(process.execPath, [appEntry('cli'), ...args, '--json'], {
    env: { ...ofNode, SLUICE_HOME: home },
    stdio: 'pipe',
  })
  // A command may end without having read its input.
  pipeline(typeof input === 'string' ? Readable.from([input]) : input, child.stdin).catch(() => {})
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, json: stdout === '' ? undefined : JSON.parse(stdout), stderr }
}
