import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeEnvironment } from '../../environment/program.ts'
import { openApp } from '../../stack/client.ts'
import { startStack } from '../../stack/running-stack.ts'
import { median } from './statistics.ts'
import { printTargets } from './targets.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const rounds = 15

/**
 * Measures how long commands take, from start to end of the process, and compares them to an empty Node process. The
 * commands of a round run one after another, so that all meet the same load. Returns whether the targets are reached.
 */
export async function benchCommandLine(): Promise<boolean> {
  const stack = await startStack()
  try {
    const { appId } = await openApp(stack)
    const main = join(root, 'apps/cli/src/main.ts')
    const keys = ['keys', '--app', String(appId)]
    const runs = {
      empty: ['--eval', '0'],
      help: [main, '--help'],
      keys: [main, ...keys],
      launchedHelp: [join(root, 'apps/cli/bin/sluice.mjs'), '--help'],
      launchedKeys: [join(root, 'apps/cli/bin/sluice.mjs'), ...keys],
    }
    const ms = await measure(runs, stack.home)
    console.log(`an empty Node: ${ms.empty.toFixed(0)} ms at the median of ${rounds}`)
    const ratio = (name: keyof typeof runs) => ms[name] / ms.empty
    return printTargets([
      { name: 'sluice --help ÷ empty Node', measured: ratio('help'), must: 3, stretch: 2, digits: 2 },
      { name: 'sluice keys ÷ empty Node', measured: ratio('keys'), must: 5, stretch: undefined, digits: 2 },
      { name: 'the same with the launcher: --help', ...reported(ratio('launchedHelp')) },
      { name: 'the same with the launcher: keys', ...reported(ratio('launchedKeys')) },
    ])
  } finally {
    await stack.stop()
  }
}

function reported(measured: number) {
  return { measured, must: undefined, stretch: undefined, digits: 2 } as const
}

/** Returns the median time of each run, ms. The first round only fills the cache of compiled code. */
async function measure<Name extends string>(
  runs: Readonly<Record<Name, readonly string[]>>,
  home: string,
): Promise<Record<Name, number>> {
  const names = Object.keys(runs) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const ms = await timeOf(runs[name], home)
      if (round > 0) times[name].push(ms)
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times[name])])) as Record<Name, number>
}

async function timeOf(args: readonly string[], home: string): Promise<number> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, { env: { ...nodeEnvironment, SLUICE_HOME: home }, stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`)
  return performance.now() - begun
}
