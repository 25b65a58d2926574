import { join } from 'node:path'
import { addressOf } from '../ports.ts'
import { type AppDefinition, type AppProcess, startApp } from './app-process.ts'
import type { WantedPort } from './choose-ports.ts'
import { type Backoff, keepRunning, type Supervisor } from './keep-running.ts'
import { type Environment, portSetting } from './settings.ts'

/** Returns the ports that the apps listen on. */
export function appPorts(apps: readonly AppDefinition[], env: Environment): WantedPort[] {
  return apps.flatMap(({ web }) =>
    web === undefined
      ? []
      : [
          {
            setting: `${web.prefix}_PORT`,
            host: hostOf(env, web.prefix),
            port: portSetting(env, `${web.prefix}_PORT`, web.port),
          },
        ],
  )
}

/** Returns `<PREFIX>_HOST`, `_PORT` and `_URL` of the apps that listen, and their URLs by the apps' names. */
export function appAddresses(
  apps: readonly AppDefinition[],
  env: Environment,
  ports: ReadonlyMap<string, number>,
): { settings: Record<string, string>; urls: Record<string, string> } {
  const settings: Record<string, string> = {}
  const urls: Record<string, string> = {}
  for (const { name, web } of apps) {
    if (web === undefined) continue
    const host = hostOf(env, web.prefix)
    const port = ports.get(`${web.prefix}_PORT`) ?? web.port
    const url = env[`${web.prefix}_URL`] || addressOf('http', host, port)
    settings[`${web.prefix}_HOST`] = host
    settings[`${web.prefix}_PORT`] = String(port)
    settings[`${web.prefix}_URL`] = url
    urls[name] = url
  }
  return { settings, urls }
}

export interface KeepAppsOptions {
  apps: readonly AppDefinition[]
  env: Environment
  /** Folder of the logs: `<name>-<n>.log`. */
  logs: string
  /** Called with the ready processes, by app, whenever they change. */
  onChange(processes: Record<string, AppProcess[]>): void
  log(line: string): void
  /** Aborts the start. */
  signal: AbortSignal
  /** Replaces the default waits before restarts. */
  backoff?: Backoff | undefined
}

/** How many processes start at a time. A hundred at once would take so long that none is ready in time. */
const startsAtOnce = 8

/**
 * Starts every process of every app, waits until all are ready, and restarts a process that ends.
 *
 * If a process does not start, stops the others and throws.
 */
export async function keepApps(options: KeepAppsOptions): Promise<Supervisor> {
  const processes: Record<string, AppProcess[]> = Object.fromEntries(options.apps.map(({ name }) => [name, []]))
  // A process that does not start aborts the start of the others.
  const failing = new AbortController()
  const signal = AbortSignal.any([options.signal, failing.signal])
  const waiting = options.apps.flatMap((app) =>
    Array.from({ length: app.count }, (_, index) => ({ app, number: index + 1 })),
  )
  const supervisors: Supervisor[] = []
  const startNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      supervisors.push(await keepProcess(next, { ...options, signal }, processes))
    }
  }
  const starting = Array.from({ length: startsAtOnce }, () =>
    startNext().catch((error: unknown) => failing.abort(error)),
  )
  await Promise.all(starting)
  const stop = async () => {
    await Promise.all(supervisors.map((supervisor) => supervisor.stop()))
  }
  if (signal.aborted) {
    await stop()
    signal.throwIfAborted()
  }
  return { stop }
}

/** Keeps one process of an app running, and in `processes` while it is ready. */
function keepProcess(
  { app, number }: { app: AppDefinition; number: number },
  options: KeepAppsOptions,
  processes: Record<string, AppProcess[]>,
): Promise<Supervisor> {
  const name = app.count === 1 ? app.name : `${app.name} ${number}`
  const change = (changed: (ready: AppProcess[]) => AppProcess[]) => {
    processes[app.name] = changed(processes[app.name] ?? [])
    options.onChange(processes)
  }
  return keepRunning({
    name,
    log: options.log,
    signal: options.signal,
    ...(options.backoff && { backoff: options.backoff }),
    async start(signal) {
      const started = await startApp({
        name,
        entry: app.entry,
        env: { ...options.env, ...app.env },
        nodeOptions: app.nodeOptions ?? [],
        logFile: join(options.logs, `${app.name}-${number}.log`),
        log: options.log,
        signal,
      })
      change((ready) => [...ready, started])
      void started.exited.then(() => change((ready) => ready.filter((each) => each !== started)))
      return started
    },
  })
}

function hostOf(env: Environment, prefix: string): string {
  return env[`${prefix}_HOST`] || '127.0.0.1'
}
