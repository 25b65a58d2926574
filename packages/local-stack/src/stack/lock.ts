import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

// Only one stack at a time runs on a folder. It holds SQLite's lock of a file, which the operating system releases with
// the process: a killed stack leaves no lock behind, and a suspended one keeps it.

/** A lock that this process holds. */
export interface Lock {
  release(): void
}

/** How long a stack waits for a command that looks at the lock, ms. */
const patienceMs = 500

const busy = 5

/** Acquires the lock of a folder. Returns undefined if a stack holds it. */
export function takeLock(home: string): Lock | undefined {
  return lockFile(home, 'begin exclusive')
}

/** Returns whether a stack holds the lock of a folder. */
export function isLocked(home: string): boolean {
  const lock = lockFile(home, 'begin; select * from sqlite_master')
  lock?.release()
  return lock === undefined
}

function lockFile(home: string, begin: string): Lock | undefined {
  const file = new DatabaseSync(join(home, 'lock'), { timeout: patienceMs })
  try {
    file.exec(begin)
    return { release: () => file.close() }
  } catch (error) {
    file.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return undefined
    throw error
  }
}
