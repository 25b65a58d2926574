import { type FileHandle, open, rename, stat } from 'node:fs/promises'

const largestLogBytes = 10 * 1024 * 1024

/**
 * Opens a log file for appending, readable by its owner only.
 *
 * First renames a log over `limitBytes` to `<path>.1`, replacing an older file, so that one log has at most two files.
 * The caller closes the handle.
 */
export async function openLog(path: string, limitBytes = largestLogBytes): Promise<FileHandle> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size > limitBytes) await rename(path, `${path}.1`)
  return open(path, 'a', 0o600)
}

/** Returns the last lines that were written to a log after byte `from`, at most `count`, without blank lines. */
export async function lastLines(path: string, from: number, count: number): Promise<string[]> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const start = Math.max(from, size - 64 * 1024)
    const bytes = Buffer.alloc(Math.max(0, size - start))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
    const lines = bytes.toString('utf8', 0, bytesRead).split('\n')
    return lines.filter((line) => line.trim() !== '').slice(-count)
  } finally {
    await file.close()
  }
}
