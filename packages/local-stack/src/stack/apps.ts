import { join } from 'node:path'
import { addressOf } from '../ports.ts'
import { type AppDefinition, startApp } from './app-process.ts'
import type { WantedPort } from './choose-ports.ts'
import { type Backoff, type Kept, keepRunning } from './keep-running.ts'
import { type Environment, portSetting } from './settings.ts'

/** The ports that the apps listen on. */
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

/** Gives `<PREFIX>_HOST`, `_PORT` and `_URL` of the apps that listen, and their addresses by the apps' names. */
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

/** What {@link keepApps} takes. */
export interface KeepAppsOptions {
  apps: readonly AppDefinition[]
  env: Environment
  /** Folder of the logs: `<name>-<n>.log`. */
  logs: string
  /** Takes the processes that are ready, by app, whenever they change. */
  onChange(processes: Record<string, number[]>): void
  log(line: string): void
  /** Gives the start up. */
  signal: AbortSignal
  /** Waits before restarts, where they are to differ from the usual ones. */
  backoff?: Backoff | undefined
}

/**
 * Starts every process of every app, waits until all are ready, and starts again those that end.
 *
 * Throws where one doesn't start; none is left running then.
 */
export async function keepApps(options: KeepAppsOptions): Promise<Kept> {
  const processes: Record<string, number[]> = Object.fromEntries(options.apps.map(({ name }) => [name, []]))
  const change = (name: string, pids: number[]) => {
    processes[name] = pids
    options.onChange(processes)
  }

  function keep(app: AppDefinition, index: number, signal: AbortSignal): Promise<Kept> {
    const name = app.count === 1 ? app.name : `${app.name} ${index}`
    return keepRunning({
      name,
      log: options.log,
      signal,
      ...(options.backoff && { backoff: options.backoff }),
      async start(stopping) {
        const started = await startApp({
          name,
          entry: app.entry,
          env: { ...options.env, ...app.env },
          nodeOptions: app.nodeOptions ?? [],
          logFile: join(options.logs, `${app.name}-${index}.log`),
          log: options.log,
          signal: stopping,
        })
        change(app.name, [...(processes[app.name] ?? []), started.pid])
        void started.exited.then(() =>
          change(
            app.name,
            (processes[app.name] ?? []).filter((pid) => pid !== started.pid),
          ),
        )
        return started
      },
    })
  }

  // One that doesn't start makes the others give up.
  const failing = new AbortController()
  const signal = AbortSignal.any([options.signal, failing.signal])
  const starting = options.apps.flatMap((app) =>
    Array.from({ length: app.count }, (_, index) => keep(app, index + 1, signal)),
  )
  for (const one of starting) one.catch((error: unknown) => failing.abort(error))
  const outcomes = await Promise.allSettled(starting)
  const kept = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const stop = async () => {
    await Promise.all(kept.map((one) => one.stop()))
  }
  if (kept.length < outcomes.length) {
    await stop()
    signal.throwIfAborted()
  }
  return { stop }
}

function hostOf(env: Environment, prefix: string): string {
  return env[`${prefix}_HOST`] || '127.0.0.1'
}
