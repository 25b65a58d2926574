import { setTimeout as delay } from 'node:timers/promises'
import { readSettings, SettingsError, unknownSettings } from '@sluice/config'
import { flushTraces } from '@sluice/traces'
import type { Logger } from 'pino'
import { openLog } from './log.ts'
import { collectProcessMetrics, type Metrics, openMetrics } from './metrics.ts'
import { type OperationsServer, startOperationsServer } from './operations.ts'
import { logWhenReady, openReadiness, type Readiness } from './readiness.ts'

/** A service that has started. */
export interface RunningService {
  /** Facts for the log and the supervisor, such as the address. */
  info: Record<string, unknown>
  /**
   * How long the service still accepts requests before it stops, ms. `/readyz` answers 503 meanwhile, so that load
   * balancers notice. Default 0.
   */
  drainMs?: number
  /** Accepts no more work, finishes the work in flight, and closes everything. */
  stop(): Promise<void>
}

/** What a process reports to its operators at `METRICS_PORT`. */
export interface ServiceOperations {
  metrics: Metrics
  readiness: Readiness
}

/**
 * Runs a process of the service. Starts it, reports to a supervisor that it is ready, and stops it on SIGTERM, SIGINT
 * or the loss of the supervisor. A second signal ends the process at once. `/metrics`, `/healthz` and `/readyz` are
 * served on `METRICS_PORT`.
 *
 * Accepts the name of the process in the log and the function that starts the service. If stopping takes longer than
 * `stopDeadlineMs`, the process ends by force. Exits with code 1 if a setting is invalid or the start fails. If a store
 * is missing, the process runs, and the log says what it waits for. The log warns of misspelt settings. `ownSettings`
 * are settings that no other app knows.
 */
export async function runService(
  name: string,
  { stopDeadlineMs, ownSettings }: { stopDeadlineMs: number; ownSettings?: readonly string[] },
  start: (log: Logger, operations: ServiceOperations) => Promise<RunningService>,
): Promise<void> {
  requireNode24()
  const log = openLogOrExit(name)
  warnOfUnknownSettings(log, ownSettings)
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, event)
      process.exit(1)
    })
  }
  const operations = { metrics: openMetrics(), readiness: openReadiness() }
  const starting = startAll(log, operations, start)
  listenForStop(log, starting, operations.readiness, stopDeadlineMs)
  try {
    const { info } = await starting
    process.send?.({ type: 'ready', ...info })
    await logWhenReady(operations.readiness, log, info)
  } catch (error) {
    if (error instanceof SettingsError) console.error(error.message)
    else log.fatal({ err: error }, 'start failed')
    process.exit(1)
  }
}

async function startAll(
  log: Logger,
  operations: ServiceOperations,
  start: (log: Logger, operations: ServiceOperations) => Promise<RunningService>,
): Promise<RunningService> {
  const { METRICS_HOST: host, METRICS_PORT: port } = readSettings(process.env, ['METRICS_HOST', 'METRICS_PORT'])
  collectProcessMetrics(operations.metrics)
  const service = await start(log, operations)
  // Starts last, so that a process that is still starting does not look ready.
  const server: OperationsServer = await startOperationsServer({ host, port, log, ...operations })
  return {
    ...service,
    info: { ...service.info, metrics: `${server.url}/metrics` },
    async stop() {
      await service.stop()
      await server.close()
    },
  }
}

function openLogOrExit(name: string): Logger {
  try {
    return openLog(name)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

function warnOfUnknownSettings(log: Logger, ownSettings?: readonly string[]): void {
  for (const { name, nearest } of unknownSettings(process.env, ownSettings)) {
    const advice = nearest === undefined ? 'docs/settings.md lists the settings' : `did you mean ${nearest}?`
    log.warn({ setting: name, nearest }, `${name} is not a setting: ${advice}`)
  }
}

function listenForStop(
  log: Logger,
  starting: Promise<RunningService>,
  readiness: Readiness,
  stopDeadlineMs: number,
): void {
  let stopping = false
  const stop = async (reason: string) => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ reason }, 'stopping')
    readiness.stopping()
    const forceAfter = (ms: number) =>
      setTimeout(() => {
        log.error('did not stop in time')
        process.exit(1)
      }, ms).unref()
    const force = forceAfter(stopDeadlineMs)
    try {
      const service = await starting
      if (service.drainMs) {
        clearTimeout(force)
        await delay(service.drainMs)
        forceAfter(stopDeadlineMs)
      }
      await service.stop()
      await flushTraces()
      log.info('stopped')
      process.exit(0)
    } catch (error) {
      log.error({ err: error }, 'stop failed')
      process.exit(1)
    }
  }
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  // A process must not continue after its supervisor was killed.
  process.once('disconnect', () => void (stopping || stop('supervisor is gone')))
}

/** Exits with a clear message if somebody runs a .ts file on an older Node. */
function requireNode24(): void {
  if (Number(process.versions.node.split('.')[0]) >= 24) return
  console.error(`Node 24 is required, but this is ${process.version}: start through npm, which installs Node 24`)
  process.exit(1)
}
