// npm run bench [-- name] [arguments]: measures against other implementations in the same run, and prints ratios. Exits
// with code 1 if a target is missed.
import { benchChanges } from './changes.ts'
import { benchExport } from './export.ts'
import { benchFullSize } from './full-size.ts'
import { benchGrowth } from './growth.ts'
import { benchImport } from './import/index.ts'
import { benchLatency } from './latency.ts'
import { benchMemory } from './memory.ts'
import { benchMixed } from './mixed.ts'
import { benchMove } from './move.ts'
import { benchRegister } from './register.ts'
import { benchScale } from './scale/index.ts'
import { benchStages } from './stages.ts'
import { benchUpdates } from './updates/index.ts'

/** Each benchmark accepts its arguments, and returns whether it met its targets. */
const benches: Record<string, (args: readonly string[]) => Promise<boolean>> = {
  import: benchImport,
  changes: benchChanges,
  export: benchExport,
  'full-size': benchFullSize,
  growth: benchGrowth,
  latency: benchLatency,
  memory: benchMemory,
  mixed: benchMixed,
  move: benchMove,
  register: benchRegister,
  scale: benchScale,
  stages: benchStages,
  updates: benchUpdates,
}

// A signal ends the process in the usual way, so that temporary files are removed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const given = process.argv.slice(2)
const [name, args] = given[0]?.startsWith('-') === false ? [given[0], given.slice(1)] : ['import', given]
const bench = benches[name]
if (bench === undefined) {
  console.error(`There is no benchmark ${name}; there are: ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}
process.exitCode = (await bench(args)) ? 0 : 1
