import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'

/** Levels of log lines that the terminal shows. */
const noticedLevels = ['warn', 'error', 'fatal']

/**
 * Copies the output of a process unchanged to its log, and calls `notice` with the lines that the terminal should show.
 * Resolves when the process has closed its output and the log is closed. Never rejects.
 */
export async function recordOutput(
  child: ChildProcess,
  logFile: FileHandle,
  notice: (line: string) => void,
): Promise<void> {
  const log = logFile.createWriteStream()
  // A full disk ends the log, but not the app.
  const logged = finished(log).catch(() => {})
  const closed = once(child, 'close').catch(() => {})
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    stream.on('data', (chunk: Buffer) => void log.write(chunk))
    createInterface({ input: stream }).on('line', (line) => {
      const warning = warningIn(line, stream === child.stderr)
      if (warning !== undefined) notice(warning)
    })
  }
  await closed
  log.end()
  await logged
}

/** Members that any log line can have. */
const general = ['level', 'time', 'pid', 'hostname', 'name', 'trace_id', 'span_id', 'msg', 'err', 'error']

/**
 * Returns the text of a line if it is a warning or an error, else undefined: its message, the reason, and what it is
 * about. The level of a log line decides. Any other line counts as a warning if it was written to stderr.
 */
export function warningIn(line: string, isStderr: boolean): string | undefined {
  if (line.startsWith('{')) {
    try {
      const logged: Record<string, unknown> & { err?: { message?: string } } = JSON.parse(line)
      if (typeof logged.level === 'string') return noticedLevels.includes(logged.level) ? textOf(logged) : undefined
    } catch {
      // The line is not JSON, and therefore not a log line.
    }
  }
  return isStderr && line.trim() !== '' ? line : undefined
}

function textOf(logged: Record<string, unknown> & { err?: { message?: string } }): string {
  const reason = logged.err?.message ?? logged.error
  // Some messages name the reason already.
  const text = [logged.msg, String(logged.msg).includes(String(reason)) ? undefined : reason].filter(Boolean).join(': ')
  const about = Object.entries(logged)
    .filter(([name]) => !general.includes(name))
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return about.length === 0 ? text : `${text} (${about.join(', ')})`
}
