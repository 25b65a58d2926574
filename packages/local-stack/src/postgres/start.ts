import { spawn } from 'node:child_process'
import { mkdir, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { lastLines, openLog } from '../log-file.ts'
import { freePort } from '../ports.ts'
import { isRunning, waitForExit } from '../process-state.ts'
import { findBinaries, type PostgresBinaries } from './binaries.ts'
import { databaseName, ensureCluster, postgresEnvironment } from './cluster.ts'
import { chooseLauncher, type Launcher, serverCommandFor } from './launcher.ts'
import { isPostmasterOf, readPostmasterFile } from './postmaster-file.ts'

/** Options of {@link startPostgres}. */
export interface PostgresOptions {
  /** Created on the first start. Its password and log are next to it: `<directory>.password`, `<directory>.log`. */
  dataDirectory: string
  /** Port on 127.0.0.1; 0 picks a free port. */
  port: number
  /**
   * Further server settings, such as `{ work_mem: '64MB' }`. With `fsync` off, creating the directory is faster too.
   */
  settings?: Readonly<Record<string, string>>
  /** Further environment variables of the server. */
  environment?: Readonly<Record<string, string>>
  /** How to run Postgres's programs. By default, chosen for the machine. */
  launcher?: Launcher
}

/** A Postgres server that accepts connections. */
export interface RunningPostgres {
  /** `postgres://user:password@127.0.0.1:port/database` */
  url: string
  port: number
  /** Settles when the server has ended for any reason, with how it ended: `exit code 1`, `SIGKILL`. */
  exited: Promise<string>
  /** Shuts down: closes the connections, rolls back open transactions, and waits for the end. Can be called again. */
  stop(): Promise<void>
}

/**
 * For how long a start waits for the leftovers of a killed server: its last connections, its entry in the process
 * table.
 */
const leftoverWaitMs = 10_000
/** After this time a shutdown aborts its last checkpoint. The next start then recovers as after a crash. */
const shutdownMs = 30_000
const pollMs = 20

/**
 * Starts an embedded Postgres on 127.0.0.1. The first start creates the data directory.
 *
 * The server ends when this process dies, even if it is killed. A server that an earlier process left running on the
 * same directory is shut down first. Throws with the last lines of the server's log if the server does not start.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const parent = dirname(options.dataDirectory)
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const dataDirectory = join(await realpath(parent), basename(options.dataDirectory))
  const binaries = await findBinaries()
  const launcher = options.launcher ?? (await chooseLauncher(binaries.postgres, dataDirectory))
  const password = await ensureCluster(binaries, launcher, dataDirectory, options.settings?.fsync !== 'off')
  await stopLeftoverServer(dataDirectory)

  const deadline = performance.now() + leftoverWaitMs
  for (;;) {
    const port = options.port === 0 ? await freePort('127.0.0.1') : options.port
    const server = await launch(binaries, launcher, { ...options, dataDirectory, port })
    if (server.state === 'ready') {
      const url = `postgres://${databaseName}:${password}@127.0.0.1:${port}/${databaseName}`
      return { url, port, exited: server.exited, stop: server.stop }
    }
    const isTemporary =
      /lock file ".*" already exists|pre-existing shared memory block/.test(server.log) ||
      (options.port === 0 && server.log.includes('could not bind'))
    if (!isTemporary || performance.now() > deadline) {
      throw new Error(`Postgres did not start (${dataDirectory}.log):\n${server.log}`)
    }
    await delay(200)
  }
}

type Launched = { state: 'ready'; exited: Promise<string>; stop(): Promise<void> } | { state: 'failed'; log: string }

/** Starts the server once, and waits until it accepts connections or has ended. */
async function launch(binaries: PostgresBinaries, launcher: Launcher, options: PostgresOptions): Promise<Launched> {
  const { dataDirectory } = options
  const previous = await readPostmasterFile(dataDirectory)
  const log = await openLog(`${dataDirectory}.log`)
  const { size: logStart } = await log.stat()
  const child = spawn('env', serverCommandFor(launcher, [binaries.postgres, ...serverArguments(options)]), {
    // The process ID in postmaster.pid may belong to a zombie or to another program by now, and the server would refuse
    // to start. With this variable, the server ignores the ID. It still detects by the shared memory whether the
    // directory is in use.
    env: {
      ...postgresEnvironment,
      ...options.environment,
      ...(previous && { PG_GRANDPARENT_PID: String(previous.pid) }),
    },
    stdio: ['pipe', log.fd, log.fd],
    // The server gets a process group of its own, so Ctrl-C in a terminal does not end it before the apps have stopped.
    detached: true,
  })
  child.stdin?.on('error', () => {})
  let ended = false
  const exited = waitForExit(child).finally(() => {
    ended = true
  })
  await log.close()

  while (!ended) {
    const current = await readPostmasterFile(dataDirectory)
    if (current?.ready && current.content !== previous?.content) {
      const end = () => (ended ? Promise.resolve() : stop(current.pid, exited))
      return { state: 'ready', exited, stop: end }
    }
    await Promise.race([delay(pollMs), exited])
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
  const timer = setTimeout(() => void signal(pid, 'SIGQUIT'), shutdownMs)
  await exited
  clearTimeout(timer)
}

/** Shuts down a server that still runs on the directory because it did not notice that its parent was killed. */
async function stopLeftoverServer(dataDirectory: string): Promise<void> {
  const leftover = await readPostmasterFile(dataDirectory)
  if (leftover === undefined || !(await isPostmasterOf(leftover.pid, dataDirectory))) return
  await signal(leftover.pid, 'SIGINT')
  const deadline = performance.now() + shutdownMs
  while (await isRunning(leftover.pid)) {
    if (performance.now() > deadline)
      throw new Error(`Postgres (process ${leftover.pid}) still runs on ${dataDirectory}`)
    await delay(pollMs)
  }
}

async function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (await isRunning(pid)) process.kill(pid, name)
}
