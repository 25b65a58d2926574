// npm run test:hostile: runs every attack on a running stack, and measures another tenant's requests.
// Options: `--only bodies` (attacks with this in their title), `--json`. Each attack runs in a process of its own, with
// `--alone` and its title.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Attack } from './attack.ts'
import { attacks } from './attacks/index.ts'
import { type Outcome, runAlone } from './run.ts'

const { values } = parseArgs({
  options: { only: { type: 'string' }, json: { type: 'boolean', default: false }, alone: { type: 'string' } },
})
const alone = attacks.find(({ title }) => title === values.alone)
if (alone !== undefined) {
  const outcome = await runAlone(alone)
  await new Promise((resolve) => process.send?.(outcome, resolve))
  process.exit(0)
}
const chosen = attacks.filter(({ title }) => title.includes(values.only ?? ''))
if (chosen.length === 0) {
  console.error(`There is no such attack. The attacks:\n${attacks.map(({ title }) => title).join('\n')}`)
  process.exit(2)
}

const outcomes: Outcome[] = []
for (const attack of chosen) {
  const outcome = await runInProcess(attack)
  outcomes.push(outcome)
  if (!values.json) print(outcome)
}
const broken = outcomes.filter(({ violations }) => violations.length > 0)
if (values.json) console.log(JSON.stringify(outcomes, null, 2))
else console.log(`\n${outcomes.length} attacks, ${broken.length} of them with violations`)
process.exitCode = broken.length > 0 ? 1 : 0

/** Runs an attack in its own process, so that its leftovers do not affect the next attack. */
async function runInProcess(attack: Attack): Promise<Outcome> {
  const child = fork(fileURLToPath(import.meta.url), ['--alone', attack.title])
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  if (typeof message === 'object' && message !== null) {
    if (child.exitCode === null) await once(child, 'exit')
    return message
  }
  const violations = ['the attack ended by itself']
  return { title: attack.title, seconds: 0, kinds: [], memory: {}, figures: {}, violations }
}

function print({ title, seconds, kinds, memory, figures, violations }: Outcome): void {
  console.log(`\n${title} (${seconds} s)`)
  console.log(row('', ['count', 'failed', 'normal', 'median', 'worst, ms']))
  for (const { kind, count, failed, normal_median: normal, median, worst } of kinds) {
    console.log(row(kind, [count, failed, normal, median, worst]))
  }
  const named = (of: Record<string, number>) =>
    Object.entries(of)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')
  console.log(`  peaks, MiB: ${named(memory)}`)
  if (Object.keys(figures).length > 0) console.log(`  ${named(figures)}`)
  for (const violation of violations) console.log(`  VIOLATION ${violation}`)
}

function row(name: string, cells: readonly (string | number)[]): string {
  return `  ${name.padEnd(22)}${cells.map((cell) => String(cell).padStart(11)).join('')}`
}
