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

/**
 * Returns the message of a line if it is a warning or an error, else undefined. The level of a log line decides. Any
 * other line counts as a warning if it was written to stderr.
 */
export function warningIn(line: string, isStderr: boolean): string | undefined {
  if (line.startsWith('{')) {
    try {
      const { level, msg, err } = JSON.parse(line)
      if (typeof level === 'string') {
        return noticedLevels.includes(level) ? [msg, err?.message].filter(Boolean).join(': ') : undefined
      }
    } catch {
      // The line is not JSON, and therefore not a log line.
    }
  }
  return isStderr && line.trim() !== '' ? line : undefined
}
