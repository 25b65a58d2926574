// npm run test:explore: walks through the dashboard at random, and checks each page that it comes to.
// Options: `--minutes 10`, `--seed 1` (of the first walk; each walk adds 1), `--steps 60` (of a walk),
// `--role member` or `operator` (else both in turn). Prints the violations, and how often it saw each form of page.
import { parseArgs } from 'node:util'
import { openBrowser } from '../../dashboard/browser.ts'
import { findChromium } from '../../environment/chromium.ts'
import { startExploredStack } from './explored-stack.ts'
import { exploration, walk } from './walk.ts'

const option = (value: string) => ({ type: 'string', default: value }) as const
const options = { minutes: option('10'), seed: option('1'), steps: option('60'), role: option('both') }
const { values } = parseArgs({ options })
const end = performance.now() + Number(values.minutes) * 60_000
const all = exploration(await openBrowser(await findChromium()), await startExploredStack())
try {
  for (let seed = Number(values.seed); performance.now() < end; seed++) {
    const known = all.violations.size
    const isOperator = values.role === 'operator' || (values.role === 'both' && seed % 2 === 0)
    await walk(all, isOperator ? 'operator' : 'member', seed, Number(values.steps))
    for (const violation of [...all.violations.values()].slice(known)) console.log(`VIOLATION ${violation}\n`)
  }
} finally {
  await all.browser.close()
  await all.stack.stop()
}
const visits = [...all.shapes].map(([shape, times]) => `${times} × ${shape}`)
console.log(`${visits.join('\n')}\n${visits.length} forms of pages, ${all.violations.size} violations`)
process.exitCode = all.violations.size > 0 ? 1 : 0
