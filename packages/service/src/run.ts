import { SettingsError } from '@sluice/config'
import type { Logger } from 'pino'
import { openLog } from './log.ts'

/** A part of a process that was started: what it says of itself, and how it ends. */
export interface RunningService {
  /** What the log and the supervisor are told, such as the address. */
  info: Record<string, unknown>
  /** Takes no more work, ends what is under way, closes everything. */
  stop(): Promise<void>
}

/**
 * Runs a process of the service: starts it, tells a supervisor that it is ready, and stops it on SIGTERM, SIGINT or when
 * the supervisor is gone. A second signal ends it at once.
 *
 * Takes the process's name in the log, how long its stop may take before it is ended by force (ms), and its start. Exits
 * with code 1 where the start fails, or settings are wrong.
 */
export async function runService(
  name: string,
  { stopDeadline }: { stopDeadline: number },
  start: (log: Logger) => Promise<RunningService>,
): Promise<void> {
  requireNode24()
  const log = openLogOrExit(name)
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, event)
      process.exit(1)
    })
  }
  const starting = start(log)
  listenForStop(log, starting, stopDeadline)
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

function openLogOrExit(name: string): Logger {
  try {
    return openLog(name)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

function listenForStop(log: Logger, starting: Promise<RunningService>, stopDeadline: number): void {
  let stopping = false
  const stop = async (reason: string) => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ reason }, 'stopping')
    setTimeout(() => {
      log.error('did not stop in time')
      process.exit(1)
    }, stopDeadline).unref()
    try {
      const service = await starting
      await service.stop()
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
