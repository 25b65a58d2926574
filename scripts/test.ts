import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// npm test: the checks that need no service, side by side by turbo; then every test. Arguments go to vitest.
const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(root, 'node_modules', '.bin')
const environment = {
  ...process.env,
  PATH: `${bin}:${process.env.PATH}`,
  TURBO_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
}

const folder = await mkdtemp(join(tmpdir(), 'sluice-results-'))
try {
  const checks = await run('turbo', [
    'run',
    'lint',
    'typecheck',
    'unused',
    '--output-logs=errors-only',
    '--log-order=grouped',
  ])
  const report = join(folder, 'results.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const tests = await run('vitest', ['run', ...reporters, ...process.argv.slice(2)])
  console.log(await summary(report))
  process.exitCode = checks === 0 && tests === 0 ? 0 : 1
  if (checks !== 0) console.error('The checks before the tests failed: see the top of this output.')
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function run(command: string, args: string[]): Promise<number> {
  const child = spawn(join(bin, command), args, {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  return typeof code === 'number' ? code : 1
}

/** One plain line for people and for whatever counts tests. */
async function summary(report: string): Promise<string> {
  const text = await readFile(report, 'utf8').catch(() => undefined)
  if (text === undefined) return 'The tests did not run to their end.'
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(text) as Record<string, number>
  return `${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`
}
