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
import { killAtExit, nodeEnvironment } from '../environment/program.ts'
import { runSluice } from '../environment/sluice-command.ts'
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
/** Settings that let a stack choose every port. */
export const anyPorts = Object.fromEntries(ports.map((name) => [name, '0']))

export interface StackOptions {
  /** Number of worker processes. Defaults to 1. */
  workers?: number
  /** Redis for the queues. Without it, the queues are in Postgres. */
  redisUrl?: string
  /** Additional settings, as environment variables. */
  env?: Record<string, string>
  /** Folder of an earlier stack. Defaults to a new folder. */
  home?: string
}

export interface CommandResult {
  code: number | null
  /** The JSON document on stdout, or undefined if stdout is empty. */
  json: unknown
  stderr: string
}

/** A mail as the inbox returns it (design.md §2, Inbox). */
interface Mail {
  to: string[]
  subject: string
  text: string
  html: string
  received_at: string
}

export interface StackAccess {
  home: string
  api: string
  db: Database
  info(): Promise<StackInfo>
  /** Runs a `sluice` command with `--json` on this stack, in this process, after the commands before it. */
  sluice(...args: string[]): Promise<CommandResult>
  /** Runs a command as {@link sluice} does, with `input` on stdin. */
  sluiceReading(input: string, ...args: string[]): Promise<CommandResult>
  /** Runs a `sluice` command with `--json` as a process of its own, with `input` on stdin. */
  pipeToSluice(input: string | Readable, ...args: string[]): Promise<CommandResult>
  /** Returns the received mails to an address, newest first. */
  mailsTo(email: string): Promise<Mail[]>
  /** Closes the connections to the database. The stack runs on. */
  close(): Promise<void>
}

export interface RunningStack extends StackAccess {
  /**
   * Ends the stack as Ctrl-C does, and keeps the folder. Throws unless the exit code is 0 and all processes have ended.
   */
  terminate(): Promise<void>
  /** Ends the supervisor, the apps and Postgres with SIGKILL, keeping the folder. */
  crash(): Promise<void>
  /** Ends the stack as {@link terminate} does, unless it has ended. Removes the folder. */
  stop(): Promise<void>
}

/**
 * Starts the app behind `npm start` in a temporary folder on free ports, and waits until it is ready. The stack does
 * not use the caller's environment, and ends when the caller's process ends for any reason.
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
  const access = await openStack(home)
  const ended = () => child.exitCode !== null || child.signalCode !== null

  const stack: RunningStack = {
    ...access,
    async terminate() {
      await access.close()
      const processes = await processTree(child.pid ?? 0)
      child.kill('SIGTERM')
      if (!ended()) await once(child, 'exit')
      assert.deepEqual([child.exitCode, child.signalCode], [0, null], 'the stack ended with')
      assert.deepEqual(await stillRunning(processes), [], 'the stack left processes')
    },
    async crash() {
      await access.close()
      const processes = await processTree(child.pid ?? 0)
      for (const pid of processes) signal(pid, 'SIGKILL')
      await until('the end of all processes', async () => (await stillRunning(processes)).length === 0)
    },
    async stop() {
      try {
        if (!ended()) await stack.terminate()
      } finally {
        child.kill('SIGKILL') // no effect if the process has ended
        await rm(home, { recursive: true, force: true, maxRetries: 5 })
      }
    },
  }
  return stack
}

/** Returns the mails to an address that an inbox has received, newest first. */
export async function mailsIn(inboxUrl: string, email: string): Promise<Mail[]> {
  const mails = (await (await fetch(`${inboxUrl}/api/mails`)).json()) as Mail[]
  return mails.filter(({ to }) => to.includes(email))
}

export async function openStack(home: string): Promise<StackAccess> {
  const info = () => infoOf(home)
  const { api, database, inbox } = await info()
  const { db, close } = connect(database, { connections: 2 })
  return {
    home,
    api,
    db,
    info,
    sluice: (...args) => runInProcess(home, '', args),
    sluiceReading: (input, ...args) => runInProcess(home, input, args),
    pipeToSluice: (input, ...args) => runProcess(home, input, args),
    mailsTo: (email) => mailsIn(inbox ?? '', email),
    close,
  }
}

/** Starts the app behind `npm start` on a folder, and does not wait until it is ready. */
export function spawnStack(home: string, { workers = 1, redisUrl, env = {} }: StackOptions = {}): ChildProcess {
  const settings = { ...anyPorts, WORKERS: String(workers), ...(redisUrl && { REDIS_URL: redisUrl }), ...env }
  const child = spawn(process.execPath, [appEntry('local')], {
    env: { ...nodeEnvironment, SLUICE_HOME: home, ...settings },
    // The process stops when this channel closes, so that a killed test run leaves nothing running.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  killAtExit(child)
  return child
}

/** Waits for the line `ready`. Throws with the error output if the process ends before. */
async function ready(child: ChildProcess): Promise<void> {
  assert(child.stdout && child.stderr)
  const errorOutput = text(child.stderr)
  for await (const line of createInterface({ input: child.stdout })) if (line === 'ready') return
  throw new Error(`the stack ended before it was ready: ${await errorOutput}`)
}

async function infoOf(home: string): Promise<StackInfo> {
  const info = await readStackInfo(home)
  assert(info, `no stack is ready on ${home}`)
  return info
}

async function runInProcess(home: string, input: string, args: string[]): Promise<CommandResult> {
  const env = { ...nodeEnvironment, SLUICE_HOME: home }
  const { code, stdout, stderr } = await runSluice([...args, '--json'], env, input)
  return { code, json: parse(stdout), stderr }
}

async function runProcess(home: string, input: string | Readable, args: string[]): Promise<CommandResult> {
  const child = spawn(process.execPath, [appEntry('cli'), ...args, '--json'], {
    env: { ...nodeEnvironment, SLUICE_HOME: home },
    stdio: 'pipe',
  })
  // A command may end before it has read its input.
  pipeline(typeof input === 'string' ? Readable.from([input]) : input, child.stdin).catch(() => {})
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, json: parse(stdout), stderr }
}

function parse(stdout: string): unknown {
  return stdout === '' ? undefined : JSON.parse(stdout)
}
