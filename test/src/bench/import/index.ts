import { readOptions } from './options.ts'
import { printResults, printTargets, targetsOf } from './report.ts'
import { runContenders } from './run.ts'

/** The import's benchmark. Takes its arguments; gives whether every target that must be met is met. */
export async function benchImport(args: readonly string[]): Promise<boolean> {
  const options = readOptions(args)
  const say = (line: string) => console.error(line)
  const results = await runContenders(options, say)
  printResults(results, options)
  const targets = targetsOf(results).flatMap(({ part, target }) => (options.parts.has(part) ? [target] : []))
  return printTargets(targets)
}
