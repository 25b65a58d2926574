// npm run test:mutations [-- --only 3,17] [--lanes 2] [--output]: puts each fault of mutations.json into a copy of the
// repository, and runs the test that must notice it. `--only` chooses by place in the file. `--output` prints what the
// runs of unnoticed faults printed. The exit code is 1 if a fault was not noticed.
import { parseArgs } from 'node:util'
import { readMutations, runMutations, type Verdict } from './mutate.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    lanes: { type: 'string', default: '2' },
    output: { type: 'boolean', default: false },
  },
})

const mutations = await readMutations()
const only = values.only?.split(',').map(Number)
const chosen = mutations.filter((_, place) => only === undefined || only.includes(place))
const counts: Record<Verdict, number> = { noticed: 0, survived: 0, 'not run': 0 }
await runMutations(chosen, Number(values.lanes), ({ mutation, verdict, seconds, output }) => {
  counts[verdict]++
  const place = mutations.indexOf(mutation)
  console.log(`${String(place).padStart(2)} ${verdict.padEnd(8)} ${String(seconds).padStart(3)} s  ${mutation.change}`)
  if (verdict === 'noticed') return
  console.log(`   ${mutation.file}\n   ${mutation.test}: ${mutation.title}`)
  if (values.output) console.log(output)
})
console.log(`${counts.noticed} of ${chosen.length} noticed, ${counts.survived} survived, ${counts['not run']} not run`)
process.exitCode = counts.noticed === chosen.length ? 0 : 1
