import { readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { JsonTestResults } from 'vitest/node'
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

/** Reads the report of a part; undefined if its tests did not run to their end. */
async function readReport(part: Part): Promise<JsonTestResults | undefined> {
  const text = await readFile(reportOf(part), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

/**
 * Returns a line for each test that failed: its file, its name and the first line of its error. The output of a long
 * run is often cut, and then these lines at its end are all that is left of a failure.
 */
export async function failuresOf(ran: readonly Part[]): Promise<string[]> {
  const failures: string[] = []
  for (const part of ran) {
    const report = await readReport(part)
    for (const { name, status, message, assertionResults } of report?.testResults ?? []) {
      const failed = assertionResults.filter((result) => result.status === 'failed')
      const reasons = failed.map(
        ({ fullName, failureMessages }) => `${fullName}: ${firstLine(failureMessages?.[0] ?? '')}`,
      )
      if (status === 'failed' && failed.length === 0) reasons.push(firstLine(message))
      failures.push(...reasons.map((reason) => `failed: ${relative(root, name)}: ${reason}`))
    }
  }
  return failures
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

/** Returns one plain line about the parts that have run, for people and for programs that count tests. */
export async function summaryOf(ran: readonly Part[]): Promise<string> {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const part of ran) {
    const report = await readReport(part)
    if (report === undefined) return `The tests of the part ${part} did not run to their end.`
    counts.passed += report.numPassedTests
    counts.failed += report.numFailedTests
    counts.skipped += report.numPendingTests
  }
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
}
