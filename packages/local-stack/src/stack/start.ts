import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { printable } from '../printable.ts'
import type { AppDefinition } from './app-process.ts'
import { appAddresses, appPorts, keepApps } from './apps.ts'
import { choosePorts } from './choose-ports.ts'
import { embeddedPorts, startEmbeddedParts } from './embedded-parts.ts'
import { encryptionKeysOf } from './encryption-key.ts'
import { openInfoFile, readStackInfo, type StackInfo } from './info.ts'
import type { Backoff } from './keep-running.ts'
import { takeLock } from './lock.ts'
import type { Environment } from './settings.ts'

/** What {@link startStack} takes. */
export interface StackOptions {
  /** Folder of the data, the logs and `stack.json`: an absolute path, made where it is missing. */
  home: string
  /** What the environment says: the settings of the stack itself, and everything that the apps read. */
  env: Environment
  /** Runs before the apps start, with their environment; migrates the database, for example. */
  prepare?(appEnv: Environment): Promise<void>
  apps?: readonly AppDefinition[]
  /** Accepts lines for the people at the terminal: restarts, and the apps' warnings and errors. They are printable. */
  log(line: string): void
  /** Gives the start up: what runs already is stopped, and the start rejects with the signal's reason. */
  signal?: AbortSignal
  /** Waits before the restart of an app; 100 ms doubling to 5 s, anew after 30 s, where it is left out. */
  backoff?: Backoff
}

/** A stack that is ready. */
export interface RunningStack {
  /** As `stack.json` says at this moment. */
  readonly info: StackInfo
  /** Ends the apps, then the embedded parts, then removes `stack.json` and the lock. Can be called again. */
  stop(): Promise<void>
  /** Settles when the stack has ended. */
  exited: Promise<void>
}

/** Another stack runs on the folder; the message names its process and its addresses. */
export class StackRunningError extends Error {
  override readonly name = 'StackRunningError'
}

/**
 * Starts everything on one machine (design.md §2): the embedded parts that the environment doesn't name, then
 * `prepare`, then the apps; writes `stack.json` when all are ready.
 *
 * Throws {@link StackRunningError}; and an error that names the setting or the part where anything else is in the way.
 * Nothing is left running then.
 */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const parts = new AsyncDisposableStack()
  try {
    const readInfo = await startParts(options, parts)
    const ended = Promise.withResolvers<void>()
    let stopping: Promise<void> | undefined
    return {
      get info() {
        return readInfo()
      },
      stop() {
        stopping ??= parts.disposeAsync().finally(ended.resolve)
        return stopping
      },
      exited: ended.promise,
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

/** Starts one part after the other and puts the end of each on the stack of parts; gives how to read the state. */
async function startParts(options: StackOptions, parts: AsyncDisposableStack): Promise<() => StackInfo> {
  const { home, env, apps = [], signal = new AbortController().signal } = options
  const log = (line: string) => options.log(printable(line))
  const logs = join(home, 'logs')
  await mkdir(logs, { recursive: true, mode: 0o700 })
  await lockHome(home, parts)
  const infoFile = await openInfoFile(home)
  parts.defer(infoFile.remove)

  const ports = await choosePorts([...appPorts(apps, env), ...embeddedPorts(env)])
  const embedded = await startEmbeddedParts({ home, env, ports, parts, log, signal })
  const addresses = appAddresses(apps, env, ports)
  const appEnv: Environment = {
    ...env,
    MAIL_FROM: env.MAIL_FROM || 'Sluice <no-reply@sluice.local>',
    ENCRYPTION_KEYS: await encryptionKeysOf(home, env),
    ...embedded.settings,
    ...addresses.settings,
  }
  signal.throwIfAborted()
  await options.prepare?.(appEnv)

  const info: StackInfo = {
    api: '',
    ...addresses.urls,
    storage: appEnv.S3_ENDPOINT ?? '',
    ...(embedded.inbox && { inbox: embedded.inbox }),
    database: appEnv.DATABASE_URL ?? '',
    pid: process.pid,
    processes: {},
  }
  let ready = false
  const onChange = (processes: Record<string, number[]>) => {
    info.processes = processes
    if (ready) infoFile.write(info).catch((error: Error) => log(`stack.json could not be written: ${error.message}`))
  }
  const running = await keepApps({ apps, env: appEnv, logs, onChange, log, signal, backoff: options.backoff })
  parts.defer(running.stop)
  ready = true
  await infoFile.write(info)
  return () => structuredClone(info)
}

async function lockHome(home: string, parts: AsyncDisposableStack): Promise<void> {
  const taken = await takeLock(home)
  if ('lock' in taken) {
    parts.defer(taken.lock.release)
    return
  }
  const info = await readStackInfo(home)
  const urls = [info?.api && `API ${info.api}`, info?.dashboard && `dashboard ${info.dashboard}`].filter(Boolean)
  const where = info === undefined ? 'it is still starting' : [...urls, `storage ${info.storage}`].join(', ')
  throw new StackRunningError(`Sluice already runs on ${home} (process ${taken.holder.pid}): ${where}`)
}
