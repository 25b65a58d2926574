import { readSettings } from '@sluice/config'
import { traceIds } from '@sluice/traces'
import { type Logger, type LoggerOptions, pino } from 'pino'

/** Header and field names whose values never get into a log. */
const secrets = ['x-service-token', 'authorization', 'cookie', 'api_token', 'password', 'secret']

/** What an API token looks like (`@sluice/accounts`), wherever in a line it stands. */
const apiToken = /slc_\d+_[\w-]{43}/g

/**
 * The structured log of a process: JSON lines on stdout, with the process's name. When nobody takes them any more, the
 * process goes on without.
 */
export function openLog(name: string): Logger {
  const { LOG_LEVEL: level } = readSettings(process.env, ['LOG_LEVEL'])
  const options: LoggerOptions = {
    name: `sluice-${name}`,
    level,
    redact: { paths: secrets.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]), censor: '[redacted]' },
    serializers: { err: errorForLog },
    hooks: { streamWrite: (line) => line.replace(apiToken, '[redacted]') },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: traceIds,
  }
  process.stdout.on('error', () => {})
  // Not by pino's own destination: where the other end of a pipe is gone, its last flush waits for it for ever.
  return pino(options, process.stdout)
}

/** The rest of an error may be anything: a whole connection with its parameters, the values of a row, bytes of a request. */
function errorForLog(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { type, message, stack, code } = pino.stdSerializers.err(error)
  return { type, message, stack, code }
}
