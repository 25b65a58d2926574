import { readSettings } from '@sluice/config'
import { traceIds } from '@sluice/traces'
import { type Logger, type LoggerOptions, pino } from 'pino'

/** Names of headers and fields whose values are never logged. */
const secrets = ['x-service-token', 'authorization', 'cookie', 'api_token', 'password', 'secret']

/** Longest line of the log, characters. Long texts of a longer line are cut, so that clients cannot fill the disk. */
const longestLine = 8_192
/** Length to which the texts of a longer line are cut, characters. */
const longestText = 1_000

/** The form of an API token (`@sluice/accounts`), anywhere in a line. */
const apiToken = /slc_\d+_[\w-]{43}/g

/**
 * Opens the structured log of a process (design.md §4, Isolation): JSON lines on stdout, with the process's name. If
 * nobody reads the lines any more, the process continues without a log.
 */
export function openLog(name: string): Logger {
  const { LOG_LEVEL: level } = readSettings(process.env, ['LOG_LEVEL'])
  const options: LoggerOptions = {
    name: `sluice-${name}`,
    level,
    redact: { paths: secrets.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]), censor: '[redacted]' },
    serializers: { err: errorForLog },
    hooks: {
      // Redacts first: half of a token would not be recognised.
      streamWrite: (line) => bounded(line.replace(apiToken, '[redacted]')),
      logMethod: withMessage,
    },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: traceIds,
  }
  process.stdout.on('error', () => {})
  // If the other end of the pipe is closed, the last flush of pino's own destination would wait forever.
  return pino(options, process.stdout)
}

/**
 * Cuts the long texts of a line that is too long. If that does not suffice, returns only the message with its level,
 * time and process.
 */
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
 * Returns the parts of an error that may be logged. Other members could be anything: a connection with its parameters,
 * the values of a row, or bytes of a request.
 *
 * An error with text from a client has its own text for the log (`forLog`). Its stack is left out, because a stack
 * begins with the message.
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

/**
 * Sets the message of a line that has only an error. Pino would use the error's whole message, which may have text from
 * a client.
 */
const withMessage: Required<NonNullable<LoggerOptions['hooks']>>['logMethod'] = function (args, method) {
  const [about, text] = args as unknown[]
  const error = about instanceof Error ? about : Object(about).err
  if (text === undefined && error instanceof Error) args[1] = String(errorForLog(error).message)
  method.apply(this, args)
}

/** Returns an error and its causes. */
function errorsOf(error: Error): Error[] {
  const chain = [error]
  for (let { cause } = error; cause instanceof Error && !chain.includes(cause); { cause } = cause) chain.push(cause)
  return chain
}
