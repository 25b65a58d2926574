import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../modules.ts'

/** The parts of the tests, each with its vitest projects. `fast` and `long` together are `all`. */
export const parts = {
  fast: ['unit', 'system'],
  long: ['long'],
  all: ['unit', 'system', 'long'],
} as const

export type Part = keyof typeof parts

/** Returns the file in which vitest reports the results of a part. */
export function reportOf(part: Part): string {
  return join(root, 'node_modules', '.cache', 'test-results', `${part}.json`)
}

/** Removes the report of an earlier run, so that it cannot count for a run that does not reach its end. */
export async function removeReport(part: Part): Promise<void> {
  await rm(reportOf(part), { force: true })
}

/** Returns one plain line about the parts that have run, for people and for programs that count tests. */
export async function summaryOf(ran: readonly Part[]): Promise<string> {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const part of ran) {
    const text = await readFile(reportOf(part), 'utf8').catch(() => undefined)
    if (text === undefined) return `The tests of the part ${part} did not run to their end.`
    const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0 } = JSON.parse(text) as Record<string, number>
    counts.passed += numPassedTests
    counts.failed += numFailedTests
    counts.skipped += numPendingTests
  }
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
}
