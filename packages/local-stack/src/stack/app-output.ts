import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'

/** Levels of log lines that people should see at once. */
const NOTICED = ['warn', 'error', 'fatal']

/**
 * Copies what a process prints to its log as it stands, and hands the lines that people should see at once to
 * `notice`. Settles, with the log closed, when the process has closed its output. Never rejects.
 */
export async function recordOutput(
  child: ChildProcess,
  logFile: FileHandle,
  notice: (line: string) => void,
): Promise<void> {
  const log = logFile.createWriteStream()
  // A full disk ends the log, and not the app.
  const logged = finished(log).catch(() => {})
  const closed = once(child, 'close').catch(() => {})
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    stream.on('data', (chunk: Buffer) => void log.write(chunk))
    createInterface({ input: stream }).on('line', (line) => {
      const worth = worthNotice(line, stream === child.stderr)
      if (worth !== undefined) notice(worth)
    })
  }
  await closed
  log.end()
  await logged
}

/** Gives a line's message where it is a warning or an error: by its level where it is a log line, else by the stream. */
export function worthNotice(line: string, isStderr: boolean): string | undefined {
  if (line.startsWith('{')) {
    try {
      const { level, msg, err } = JSON.parse(line)
      if (typeof level === 'string') {
        return NOTICED.includes(level) ? [msg, err?.message].filter(Boolean).join(': ') : undefined
      }
    } catch {
      // Not a log line after all.
    }
  }
  return isStderr && line.trim() !== '' ? line : undefined
}
