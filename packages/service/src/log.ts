import { readSettings } from '@sluice/config'
import { traceIds } from '@sluice/traces'
import { type Logger, type LoggerOptions, pino } from 'pino'

/** Header and field names whose values never get into a log. */
const secrets = ['x-service-token', 'authorization', 'cookie', 'api_token', 'password', 'secret']

/** A longer line has its long texts cut: what clients send must not fill the disk of a log. Characters. */
const longestLine = 8_192
const longestText = 1_000

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
    hooks: { streamWrite: (line) => bounded(line).replace(apiToken, '[redacted]'), logMethod: withMessage },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: traceIds,
  }
  process.stdout.on('error', () => {})
  // Not by pino's own destination: where the other end of a pipe is gone, its last flush waits for it for ever.
  return pino(options, process.stdout)
}

/** Returns a line with long texts cut if it is long; of a line that still is, only what happened, and when. */
function bounded(line: string): string {
  if (line.length <= longestLine) return line
  const shortened = `${JSON.stringify(JSON.parse(line), (_, value) => cut(value))}\n`
  if (shortened.length <= longestLine) return shortened
  const { level, time, pid, hostname, name, msg } = JSON.parse(shortened)
  return `${JSON.stringify({ level, time, pid, hostname, name, msg, left_out: line.length })}\n`
}

function cut(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= longestText) return value
  return `${value.slice(0, longestText).toWellFormed()}… (${value.length - longestText} more)`
}

/**
 * The rest of an error may be anything: a whole connection with its parameters, the values of a row, bytes of a request. An error
 * with text of a client says itself what may be logged (`forLog`). Its stack begins with its message, so it is left out.
 */
function errorForLog(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const chain = errorsOf(error)
  if (chain.some((each) => 'forLog' in each)) {
    return {
      type: error.name,
      message: chain.map((each) => ('forLog' in each ? each.forLog : each.message)).join(': '),
    }
  }
  const { type, message, stack, code } = pino.stdSerializers.err(error)
  return { type, message, stack, code }
}

/** Pino would take the message of an error for that of a line that has none. */
const withMessage: Required<NonNullable<LoggerOptions['hooks']>>['logMethod'] = function (args, method) {
  const [about, text] = args as unknown[]
  const error = about instanceof Error ? about : Object(about).err
  if (text === undefined && error instanceof Error) args[1] = String(errorForLog(error).message)
  method.apply(this, args)
}

/** An error and its causes. */
function errorsOf(error: Error): Error[] {
  const chain = [error]
  for (let { cause } = error; cause instanceof Error && !chain.includes(cause); { cause } = cause) chain.push(cause)
  return chain
}
