import { runChecks, runTool } from './run-tool.ts'
import { type Part, parts, removeReport, reportOf, summaryOf } from './tests/results.ts'

// npm test, npm run test:long and npm run test:all: run the checks that need no service, then the tests of a part.
// Further arguments go to vitest, and choose among all tests: npm test -- test/src/imports/order.test.ts
const args = process.argv.slice(2)
const part = partOf(args)
const choice = args.filter((arg) => !arg.startsWith('--part='))
const projects = parts[choice.length > 0 ? 'all' : part].flatMap((project) => ['--project', project])
// Tests of npm test wait for Postgres and for other processes a quarter of the time. A third worker uses that time.
// Long tests have limits of seconds, for which the two workers of the configuration leave room.
const workers = part === 'fast' ? ['--maxWorkers=3'] : []
const reporters = ['--reporter=./scripts/tests/progress-reporter.ts', '--reporter=json']

await removeReport(part)
const checks = part === 'long' ? 0 : await runChecks()
const tests = await runTool('vitest', [
  'run',
  ...projects,
  ...workers,
  ...reporters,
  `--outputFile.json=${reportOf(part)}`,
  ...choice,
])
console.log(await summaryOf([part]))
if (checks !== 0) console.error('The static checks failed: see the top of this output.')
process.exitCode = checks === 0 && tests === 0 ? 0 : 1

/** Returns the part that `--part` names; by default the fast one. */
function partOf(given: readonly string[]): Part {
  const name = given.find((arg) => arg.startsWith('--part='))?.slice('--part='.length) ?? 'fast'
  const part = (Object.keys(parts) as Part[]).find((each) => each === name)
  if (part === undefined) throw new Error(`there is no part ${name}: there are ${Object.keys(parts).join(', ')}`)
  return part
}
