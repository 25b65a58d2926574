import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../modules.ts'

/** Seconds that a test file takes, by its path from the root of the repository. */
export type FileTimes = Readonly<Record<string, number>>

/** The times that decide the order of test files. They are committed, so that the first run has them, too. */
const ofOrder = join(root, 'test', 'times.json')
/** The times that the last run of each file took here. */
const ofLastRuns = join(root, 'node_modules', '.cache', 'test-times.json')

/** Returns the committed times. A file that they do not name is new, or takes less than a second. */
export function readOrderTimes(): FileTimes {
  return readTimes(ofOrder)
}

/** Replaces the committed times. Leaves out files that take less than a second. */
export function writeOrderTimes(times: FileTimes): void {
  const kept = longestFirst(times).filter(([, seconds]) => seconds >= 1)
  const rounded = kept.map(([path, seconds]) => [path, Math.round(seconds)])
  writeFileSync(ofOrder, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`)
}

/** Returns the times of the last runs on this machine; nothing if there was none. */
export function readLastTimes(): FileTimes {
  return readTimes(ofLastRuns)
}

/** Stores the times of a run. Files that did not run keep their earlier times. */
export function addLastTimes(times: FileTimes): void {
  mkdirSync(dirname(ofLastRuns), { recursive: true })
  writeFileSync(ofLastRuns, JSON.stringify({ ...readLastTimes(), ...times }))
}

/** Returns the paths with their seconds, the longest first. */
export function longestFirst(times: FileTimes): [path: string, seconds: number][] {
  return Object.entries(times).toSorted(([, one], [, other]) => other - one)
}

function readTimes(path: string): FileTimes {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}
