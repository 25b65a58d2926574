import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../modules.ts'

/** Seconds that a test file takes, by its path from the root of the repository. */
export type FileTimes = Readonly<Record<string, number>>

/** The times that the last run of each file took here. */
const path = join(root, 'node_modules', '.cache', 'test-times.json')

/** Returns the times of the last runs on this machine; nothing if there was none. */
export function readLastTimes(): FileTimes {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}

/** Stores the times of a run. Files that did not run keep their earlier times. */
export function addLastTimes(times: FileTimes): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify({ ...readLastTimes(), ...times }))
}

/** Returns the paths with their seconds, the longest first. */
export function longestFirst(times: FileTimes): [path: string, seconds: number][] {
  return Object.entries(times).toSorted(([, one], [, other]) => other - one)
}
