import { readSettings } from '@sluice/config'
import { type Logger, pino } from 'pino'

/** Header and field names whose values never get into a log. */
const secrets = ['x-service-token', 'authorization', 'cookie', 'api_token', 'password', 'secret']

/** The structured log of a process: JSON lines on stdout, with the process's name. */
export function openLog(name: string): Logger {
  const { LOG_LEVEL: level } = readSettings(process.env, ['LOG_LEVEL'])
  return pino({
    name: `sluice-${name}`,
    level,
    redact: { paths: secrets.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]), censor: '[redacted]' },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  })
}
