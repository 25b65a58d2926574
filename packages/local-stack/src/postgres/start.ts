import { spawn } from 'node:child_process'
import { mkdir, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { lastLines, openLog } from '../log-file.ts'
import { freePort } from '../ports.ts'
import { howItEnds, isRunning } from '../process-state.ts'
import { findBinaries, type PostgresBinaries } from './binaries.ts'
import { DATABASE, ensureCluster, POSTGRES_ENVIRONMENT } from './cluster.ts'
import { chooseLauncher, type Launcher, serverCommandFor } from './launcher.ts'
import { isPostmasterOf, readPostmasterFile } from './postmaster-file.ts'

/** What {@link startPostgres} takes. */
export interface PostgresOptions {
  /** Made on the first start. Its password and log stand beside it: `<directory>.password`, `<directory>.log`. */
  dataDirectory: string
  /** Port on 127.0.0.1; 0 picks a free one. */
  port: number
  /** Further server settings, such as `{ work_mem: '64MB' }`. With `fsync` off, making the directory is faster too. */
  settings?: Readonly<Record<string, string>>
  /** How to run Postgres's programs; chosen for the machine where it is left out. */
  launcher?: Launcher
}

/** A Postgres server that takes connections. */
export interface RunningPostgres {
  /** `postgres://user:password@127.0.0.1:port/database` */
  url: string
  port: number
  /** Settles when the server has ended, whatever ended it, with how: `exit code 1`, `SIGKILL`. */
  exited: Promise<string>
  /** Shuts down: ends the connections, rolls back what is open, and waits for the end. Can be called again. */
  stop(): Promise<void>
}

/** How long a start waits for what a killed server left behind: its last connections, its place in the process table. */
const LEFTOVERS_MS = 10_000
/** After this time a shutdown stops writing its last checkpoint; the next start then recovers as after a crash. */
const SHUTDOWN_MS = 30_000
const POLL_MS = 20

/**
 * Starts an embedded Postgres on 127.0.0.1, making its data directory on the first start.
 *
 * The server ends when this process dies, however it dies. One that an earlier process left on the same directory is
 * shut down first. Throws with the last lines of the server's log where it doesn't start.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const parent = dirname(options.dataDirectory)
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const dataDirectory = join(await realpath(parent), basename(options.dataDirectory))
  const binaries = await findBinaries()
  const launcher = options.launcher ?? (await chooseLauncher(binaries.postgres, dataDirectory))
  const password = await ensureCluster(binaries, launcher, dataDirectory, options.settings?.fsync !== 'off')
  await endLeftServer(dataDirectory)

  const deadline = Date.now() + LEFTOVERS_MS
  for (;;) {
    const port = options.port === 0 ? await freePort('127.0.0.1') : options.port
    const server = await launch(binaries, launcher, { ...options, dataDirectory, port })
    if (server.state === 'ready') {
      const url = `postgres://${DATABASE}:${password}@127.0.0.1:${port}/${DATABASE}`
      return { url, port, exited: server.exited, stop: server.stop }
    }
    const passes =
      /lock file ".*" already exists|pre-existing shared memory block/.test(server.log) ||
      (options.port === 0 && server.log.includes('could not bind'))
    if (!passes || Date.now() > deadline) {
      throw new Error(`Postgres did not start (${dataDirectory}.log):\n${server.log}`)
    }
    await delay(200)
  }
}

type Launched = { state: 'ready'; exited: Promise<string>; stop(): Promise<void> } | { state: 'failed'; log: string }

/** Starts the server once, and waits until it takes connections or has ended. */
async function launch(binaries: PostgresBinaries, launcher: Launcher, options: PostgresOptions): Promise<Launched> {
  const { dataDirectory } = options
  const before = await readPostmasterFile(dataDirectory)
  const log = await openLog(`${dataDirectory}.log`)
  const { size: logStart } = await log.stat()
  const child = spawn('env', serverCommandFor(launcher, [binaries.postgres, ...serverArguments(options)]), {
    // A number in postmaster.pid that a zombie holds, or another program got, would stop the server from starting. It
    // overlooks its grandparent's, and then still finds out by the shared memory whether the directory is in use.
    env: { ...POSTGRES_ENVIRONMENT, ...(before && { PG_GRANDPARENT_PID: String(before.pid) }) },
    stdio: ['pipe', log.fd, log.fd],
    // In a process group of its own, Ctrl-C in a terminal doesn't reach it before the apps have stopped.
    detached: true,
  })
  child.stdin?.on('error', () => {})
  let ended = false
  const exited = howItEnds(child).finally(() => {
    ended = true
  })
  await log.close()

  while (!ended) {
    const now = await readPostmasterFile(dataDirectory)
    if (now?.ready && now.content !== before?.content) {
      const end = () => (ended ? Promise.resolve() : stop(now.pid, exited))
      return { state: 'ready', exited, stop: end }
    }
    await Promise.race([delay(POLL_MS), exited])
  }
  return { state: 'failed', log: (await lastLines(`${dataDirectory}.log`, logStart, 10)).join('\n') }
}

function serverArguments(options: PostgresOptions): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    ...options.settings,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return ['-D', options.dataDirectory, '-p', String(options.port), ...flags]
}

async function stop(pid: number, exited: Promise<string>): Promise<void> {
  await signal(pid, 'SIGINT')
  const impatient = setTimeout(() => void signal(pid, 'SIGQUIT'), SHUTDOWN_MS)
  await exited
  clearTimeout(impatient)
}

/** Shuts down a server that still runs on the directory: its parent was killed, and it didn't notice. */
async function endLeftServer(dataDirectory: string): Promise<void> {
  const left = await readPostmasterFile(dataDirectory)
  if (left === undefined || !(await isPostmasterOf(left.pid, dataDirectory))) return
  await signal(left.pid, 'SIGINT')
  const deadline = Date.now() + SHUTDOWN_MS
  while (await isRunning(left.pid)) {
    if (Date.now() > deadline) throw new Error(`Postgres (process ${left.pid}) still runs on ${dataDirectory}`)
    await delay(POLL_MS)
  }
}

async function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (await isRunning(pid)) process.kill(pid, name)
}
