// Cuts each scenario at each message that changes the world, and compares the outcome with the model:
//   npm run test:sweep [-- --queue postgres,redis] [--scenario first-import,cancel]
//     [--kind killed,answer-lost,frozen] [--point 17] [--every 10] [--pairs] [--lanes 4] [--list]
//     [--keep-changes]
//
// With `--keep-changes`, all imports keep their changes, and their changes files must lead to the profiles at the end.
// `--point` repeats one cut. It accepts the number or the key of a point. `--every 10` cuts only at points 10, 20 and
// so on. `--list` only prints the points. `--pairs` kills the process under test at each of the first 40 points, and
// its successor at each of them too.
//
// Prints one line of JSON for each scenario, and the sum at the end. Exits with code 1 on any violation.
import { parseArgs } from 'node:util'
import { type Kind, kinds } from './points.ts'
import { scenarios } from './scenarios/all.ts'
import { type SweepServers, startSweepServers } from './servers.ts'
import { type Figures, sweep, sweepPairs } from './sweep.ts'

const queues = ['postgres', 'redis'] as const

const { values } = parseArgs({
  options: {
    queue: { type: 'string', default: queues.join(',') },
    scenario: { type: 'string' },
    kind: { type: 'string', default: kinds.join(',') },
    point: { type: 'string' },
    every: { type: 'string', default: '1' },
    pairs: { type: 'boolean', default: false },
    lanes: { type: 'string', default: '4' },
    list: { type: 'boolean', default: false },
    'keep-changes': { type: 'boolean', default: false },
  },
})

const names = values.scenario?.split(',') ?? scenarios.map(({ name }) => name)
const unknown = names.filter((name) => !scenarios.some((each) => each.name === name))
if (unknown.length > 0) throw new Error(`there is no scenario ${unknown.join(', ')}`)
const chosenKinds = values.kind.split(',').map(toKind)
const lanes = Number(values.lanes)

let violations = 0
for (const queue of values.queue.split(',')) {
  if (queue !== 'postgres' && queue !== 'redis') throw new Error(`there is no queue ${queue}`)
  const servers = await startSweepServers(queue)
  const stop = () => void servers.close().finally(() => process.exit(1))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
  try {
    await sweepQueue(queue, servers)
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop)
    await servers.close()
  }
}
console.log(JSON.stringify({ part: 'sum', violations }))
process.exit(violations > 0 ? 1 : 0)

async function sweepQueue(queue: string, servers: SweepServers): Promise<void> {
  for (const chosen of scenarios.filter(({ name }) => names.includes(name))) {
    const scenario = values['keep-changes'] ? { ...chosen, keepsChanges: true as const } : chosen
    const options = {
      ...{ kinds: chosenKinds, lanes, list: values.list, every: Number(values.every) },
      ...(values.point !== undefined && { point: values.point }),
    }
    const began = performance.now()
    const figures: Figures = await (values.pairs ? sweepPairs : sweep)(servers, scenario, options)
    violations += figures.violations.length
    const seconds = Math.round((performance.now() - began) / 1000)
    for (const { point, kind, violations: broken, log } of figures.violations) {
      console.error(`${scenario.name} --queue ${queue} --point ${point.number} --kind ${kind}: ${point.key}`)
      console.error(`  ${broken.join('\n  ')}\n${log}`)
    }
    const { points, runs, notReached } = figures
    const found = figures.violations.length
    console.log(
      JSON.stringify({ queue, scenario: scenario.name, points, runs, notReached, violations: found, seconds }),
    )
  }
}

function toKind(name: string): Kind {
  const kind = kinds.find((each) => each === name)
  if (kind === undefined) throw new Error(`there is no kind ${name}`)
  return kind
}
