import { setTimeout as delay } from 'node:timers/promises'
import { readSettings, SettingsError } from '@sluice/config'
import { flushTraces } from '@sluice/traces'
import type { Logger } from 'pino'
import { openLog } from './log.ts'
import { collectProcessMetrics, type Metrics, openMetrics } from './metrics.ts'
import { type OperationsServer, startOperationsServer } from './operations.ts'
import { openReadiness, type Readiness } from './readiness.ts'

/** A part of a process that was started: what it says of itself, and how it ends. */
export interface RunningService {
  /** What the log and the supervisor are told, such as the address. */
  info: Record<string, unknown>
  /** How long it goes on taking requests, while `/readyz` says 503, before it stops: for load balancers to notice, ms. */
  drain?: number
  /** Takes no more work, ends what is under way, closes everything. */
  stop(): Promise<void>
}

/** What a process is given to show itself to those who run it: they see it at `METRICS_PORT`. */
export interface ServiceOperations {
  metrics: Metrics
  readiness: Readiness
}

/**
 * Runs a process of the service: starts it, tells a supervisor that it is ready, and stops it on SIGTERM, SIGINT or when
 * the supervisor is gone. A second signal ends it at once. Meanwhile `/metrics`, `/healthz` and `/readyz` are served on
 * `METRICS_PORT`.
 *
 * Takes the process's name in the log, how long its stop may take before it is ended by force (ms), and its start. Exits
 * with code 1 where the start fails, or settings are wrong.
 */
export async function runService(
  name: string,
  { stopDeadline }: { stopDeadline: number },
  start: (log: Logger, operations: ServiceOperations) => Promise<RunningService>,
): Promise<void> {
  requireNode24()
  const log = openLogOrExit(name)
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, event)
      process.exit(1)
    })
  }
  const operations = { metrics: openMetrics(), readiness: openReadiness() }
  const starting = startAll(log, operations, start)
  listenForStop(log, starting, operations.readiness, stopDeadline)
  try {
    const { info } = await starting
    log.info(info, 'ready')
    process.send?.({ type: 'ready', ...info })
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
  // Last, so that nobody takes a process that is still starting for one that is ready.
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

function listenForStop(
  log: Logger,
  starting: Promise<RunningService>,
  readiness: Readiness,
  stopDeadline: number,
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
    const force = forceAfter(stopDeadline)
    try {
      const service = await starting
      if (service.drain) {
        clearTimeout(force)
        await delay(service.drain)
        forceAfter(stopDeadline)
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
  // A process whose supervisor was killed must not go on alone.
  process.once('disconnect', () => void (stopping || stop('supervisor is gone')))
}

/** Fails with a clear word where somebody runs a .ts file on an older Node. */
function requireNode24(): void {
  if (Number(process.versions.node.split('.')[0]) >= 24) return
  console.error(`Node 24 is needed, this is ${process.version}: start through npm, which brings it`)
  process.exit(1)
}
