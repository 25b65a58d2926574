import { measureMemory } from '../memory.ts'
import { median } from '../statistics.ts'
import { printTargets, type Target } from '../targets.ts'
import { type Options, phases, readOptions, variants } from './options.ts'
import { printResults, targetsOf } from './report.ts'
import { runContenders } from './run.ts'
import { measureStartUp } from './start-up.ts'

/** The file of the memory measurement has this many bytes for each row of the other files: 1 GB for 1,000,000 rows. */
const largeFileBytes = 1000

/** Runs the import's benchmark with its command-line arguments. Returns whether every required target is met. */
export async function benchImport(args: readonly string[]): Promise<boolean> {
  const options = readOptions(args)
  const log = (line: string) => console.error(line)
  const targets: Target[] = []
  if ([...phases, ...variants].some((part) => options.parts.has(part))) {
    const results = await runContenders(options, log)
    printResults(results, options)
    targets.push(...targetsOf(results).flatMap(({ part, target }) => (options.parts.has(part) ? [target] : [])))
  }
  if (options.parts.has('memory')) {
    log('a large file')
    targets.push(await measureMemory({ bytes: options.rows * largeFileBytes, users: options.rows }))
  }
  if (options.parts.has('start')) {
    log('start of a worker')
    targets.push(...(await startTargets(options)))
  }
  return printTargets(targets)
}

async function startTargets({ rounds }: Options): Promise<Target[]> {
  const measured = await measureStartUp(rounds)
  const fromStart = median(measured.map((one) => one.fromStart))
  const fromClaim = median(measured.map((one) => one.fromClaim))
  return [
    {
      name: 'start of the worker process to first committed batch, ms',
      measured: fromStart,
      must: 300,
      stretch: 150,
      digits: 0,
    },
    {
      name: '  of this, from its claim of the import, ms',
      measured: fromClaim,
      must: undefined,
      stretch: undefined,
      digits: 0,
    },
  ]
}
