import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { printable } from '@sluice/client-cli/printable'
import type { AppDefinition, AppProcess } from './app-process.ts'
import { appAddresses, appPorts, keepApps } from './apps.ts'
import { choosePorts } from './choose-ports.ts'
import { embeddedPorts, startEmbeddedParts } from './embedded-parts.ts'
import { encryptionKeysOf } from './encryption-key.ts'
import { openInfoFile, readStackInfo, type StackInfo } from './info.ts'
import type { Backoff } from './keep-running.ts'
import { takeLock } from './lock.ts'
import type { Environment } from './settings.ts'

/** Options of {@link startStack}. */
export interface StackOptions {
  /** Folder of the data, the logs and `stack.json`: an absolute path, created if it is missing. */
  home: string
  /** The environment: the settings of the stack itself and of the apps. */
  env: Environment
  /** Runs before the apps start, with their environment; migrates the database, for example. */
  prepare?(appEnv: Environment): Promise<void>
  apps?: readonly AppDefinition[]
  /** Accepts lines for the terminal: restarts, and the apps' warnings and errors. All characters are printable. */
  log(line: string): void
  /** Aborts the start: the parts that run already are stopped, and the start rejects with the signal's reason. */
  signal?: AbortSignal
  /** Replaces the default waits before the restart of an app. */
  backoff?: Backoff
}

export interface RunningStack {
  /** The current content of `stack.json`. */
  readonly info: StackInfo
  /** Stops the apps, then the embedded parts, then removes `stack.json` and the lock. Can be called again. */
  stop(): Promise<void>
  /** Resolves when the stack has ended. */
  exited: Promise<void>
}

/** Another stack runs on the folder. The message names its process and its addresses. */
export class StackRunningError extends Error {
  override readonly name = 'StackRunningError'
}

/**
 * Starts a stack on one machine (design.md §2, npm start). Starts the embedded parts that the environment does not
 * configure, then calls `prepare`, then starts the apps. Writes `stack.json` when all apps are ready.
 *
 * Throws {@link StackRunningError} if a stack runs on the folder already. Any other error names the setting or the part
 * that failed. After an error, nothing is left running.
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

/**
 * Starts the parts in order, and adds the stop function of each to `parts`. Returns a function that reads the state.
 */
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
    ...settingsForCommands(env),
    pid: process.pid,
    processes: {},
    metrics: {},
  }
  let ready = false
  const onChange = (processes: Record<string, AppProcess[]>) => {
    const byApp = <Fact>(factOf: (process: AppProcess) => Fact[]) =>
      Object.fromEntries(Object.entries(processes).map(([name, ready]) => [name, ready.flatMap(factOf)]))
    info.processes = byApp(({ pid }) => [pid])
    info.metrics = byApp(({ metrics }) => (metrics === undefined ? [] : [metrics]))
    // design.md §2, Restarts.
    if (ready) infoFile.write(info).catch((error: Error) => log(`stack.json could not be written: ${error.message}`))
  }
  const running = await keepApps({ apps, env: appEnv, logs, onChange, log, signal, backoff: options.backoff })
  parts.defer(running.stop)
  ready = true
  await infoFile.write(info)
  return () => structuredClone(info)
}

/** Settings of the apps that commands of `sluice` need as well. */
const sharedSettings = ['ENCRYPTION_KEYS', 'WEBHOOK_ALLOW_HTTP', 'WEBHOOK_ALLOW_NETWORKS']

function settingsForCommands(env: Environment): Pick<StackInfo, 'settings'> {
  const given = sharedSettings.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []))
  return given.length === 0 ? {} : { settings: Object.fromEntries(given) }
}

async function lockHome(home: string, parts: AsyncDisposableStack): Promise<void> {
  const lock = takeLock(home)
  if (lock !== undefined) {
    parts.defer(lock.release)
    return
  }
  const info = await readStackInfo(home)
  if (info === undefined) throw new StackRunningError(`Sluice already runs on ${home}: it is still starting`)
  const urls = [info.api && `API ${info.api}`, info.dashboard && `dashboard ${info.dashboard}`].filter(Boolean)
  const addresses = [...urls, `storage ${info.storage}`].join(', ')
  throw new StackRunningError(`Sluice already runs on ${home} (process ${info.pid}): ${addresses}`)
}
