import { median, printRow, type Target } from '../measuring.ts'
import type { Contender, ImportDetails, Measured } from './contender.ts'

/** Three successive phases on one database, and five other files for a first import. */
export const phases = ['first', 'again', 'changed'] as const
export const variants = ['wide', 'narrow', 'invalid', 'gzip', 'shuffled'] as const
export type Part = (typeof phases)[number] | (typeof variants)[number]

type Name = Contender['name']

export interface Run extends Measured {
  part: Part
  name: Name
  /** Bytes of users and profiles on disk after it; NaN for a contender that writes none. */
  size: number
}

const titles: Record<Part, string> = {
  first: 'first import',
  again: 'identical re-import',
  changed: '10 % of the rows changed',
  wide: '200 attributes',
  narrow: '1 attribute',
  invalid: '30 % invalid (expert: the valid)',
  gzip: 'gzip',
  shuffled: 'users in shuffled order',
}

const of = (runs: readonly Run[], part: Part, name: Name) =>
  runs.filter((run) => run.part === part && run.name === name)

/** Returns the median over the rounds of a contender's time divided by the yardstick's time in the same round. */
function ratioOf(runs: readonly Run[], part: Part, yardstick: Name, name: Name = 'Sluice'): number {
  const yardsticks = of(runs, part, yardstick)
  return median(of(runs, part, name).map(({ seconds }, round) => seconds / (yardsticks[round]?.seconds ?? Number.NaN)))
}

export function printResults(runs: readonly Run[], rounds: number): void {
  console.log(`Medians of ${rounds} rounds; ratios are medians of the rounds' own ratios.`)
  console.log(
    'Sluice: from before the job is enqueued until another connection observes the completed import, with its error file.',
  )
  const widths = [36, 15] as [number, number]
  for (const part of [...phases, ...variants].filter((each) => runs.some((run) => run.part === each))) {
    console.log()
    printRow(titles[part], ['seconds', '÷ expert', 'Node CPU s', 'Postgres CPU s', 'MB on disk'], widths)
    for (const name of ['COPY', 'expert', 'naive', 'Sluice'] as const) {
      const own = of(runs, part, name)
      if (own.length === 0) continue
      const [seconds, nodeCpu, postgresCpu] = (['seconds', 'nodeCpu', 'postgresCpu'] as const).map((figure) =>
        median(own.map((run) => run[figure])).toFixed(2),
      )
      const size = own.at(-1)?.size ?? Number.NaN
      const ratio = ratioOf(runs, part, 'expert', name).toFixed(2)
      const onDisk = Number.isNaN(size) ? '' : (size / 1e6).toFixed(0)
      printRow(`  ${name}`, [seconds ?? '', ratio, nodeCpu ?? '', postgresCpu ?? '', onDisk], widths)
    }
    const inMs = (figure: (details: ImportDetails) => number) =>
      median(of(runs, part, 'Sluice').flatMap(({ details }) => (details ? [figure(details)] : []))).toFixed(0)
    console.log(
      `  Sluice: claimed after ${inMs((d) => d.queueWait)} ms, first batch after ${inMs((d) => d.firstCommit)} ms, ` +
        `locks held for ${inMs((d) => d.longestTransactions.lockedMs)} ms at most, ` +
        `peak RSS ${inMs((d) => d.peakMemory / 1e6)} MB`,
    )
  }
}

/** The highest allowed ratios of Sluice's time to another's: part, yardstick, must (docs/performance.md). */
const ratios: readonly [Part, Name, number?][] = [
  ['first', 'expert', 0.6],
  ['again', 'expert', 0.17],
  ['changed', 'expert', 0.28],
  ['first', 'naive', 0.35],
  ['wide', 'expert', 1],
  ['narrow', 'expert', 1],
  ['invalid', 'expert', 0.9],
  ['gzip', 'expert', 1],
  ['shuffled', 'expert'],
]

/** Returns the targets for Sluice's time relative to the others, and for the side effects that users would notice. */
export function targetsOf(runs: readonly Run[], isWanted: (part: Part) => boolean): Target[] {
  const targets: Target[] = ratios
    .filter(([part]) => isWanted(part))
    .map(([part, yardstick, must]) => {
      return { name: `${titles[part]} ÷ ${yardstick}`, measured: ratioOf(runs, part, yardstick), must }
    })
  if (!isWanted('first')) return targets
  const longest = runs.flatMap(({ details }) => (details ? [details.longestTransactions] : []))
  const locked = longest.toSorted((one, other) => other.lockedMs - one.lockedMs)[0]
  const size = (name: Name) => of(runs, 'first', name).at(-1)?.size ?? Number.NaN
  return [
    ...targets,
    {
      name: `locks of a batch, at most, ms (${locked?.activity})`,
      measured: locked?.lockedMs ?? Number.NaN,
      must: 500,
      digits: 0,
    },
    {
      name: '  its transaction, with its wait for the preceding batch, ms',
      measured: Math.max(...longest.map(({ ageMs }) => ageMs)),
      digits: 0,
    },
    { name: 'bytes on disk ÷ expert', measured: size('Sluice') / size('expert'), must: 2 },
  ]
}
