import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChecks, runTool } from './run-tool.ts'

// npm test: the checks that need no service, then every test. Arguments go to vitest.
const folder = await mkdtemp(join(tmpdir(), 'sluice-results-'))
try {
  const checks = await runChecks()
  const report = join(folder, 'results.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const tests = await runTool('vitest', ['run', ...reporters, ...process.argv.slice(2)])
  console.log(await summary(report))
  process.exitCode = checks === 0 && tests === 0 ? 0 : 1
  if (checks !== 0) console.error('The static checks failed: see the top of this output.')
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Returns one plain line for people and for programs that count tests. */
async function summary(report: string): Promise<string> {
  const text = await readFile(report, 'utf8').catch(() => undefined)
  if (text === undefined) return 'The tests did not run to their end.'
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(text) as Record<string, number>
  return `${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`
}
