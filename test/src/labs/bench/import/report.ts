import { median } from '../statistics.ts'
import type { Target } from '../targets.ts'
import type { Contender, ImportDetails } from './contender.ts'
import { type Options, type Part, phases, variants } from './options.ts'
import type { Results } from './results.ts'

const titles: Record<(typeof phases)[number] | (typeof variants)[number], string> = {
  first: 'first import',
  again: 'identical re-import',
  changed: '10 % of the rows changed',
  wide: '200 attributes',
  narrow: '1 attribute',
  invalid: '30 % invalid (expert: the valid)',
  gzip: 'gzip',
  shuffled: 'users in shuffled order',
}

const names: readonly Contender['name'][] = ['COPY', 'expert', 'naive', 'Sluice']

/** Prints the measurements, part by part. */
export function printResults(results: Results, { rounds }: Options): void {
  console.log(`Medians of ${rounds} rounds; ratios are medians of the rounds' own ratios.`)
  console.log(
    'Sluice: from before the job is enqueued until another connection observes the completed import, with its error file.',
  )
  for (const part of [...phases, ...variants]) printPart(results, part)
}

function printPart(results: Results, part: keyof typeof titles): void {
  const present = names.filter((name) => results.runs(part, name).length > 0)
  if (present.length === 0) return
  const heads = ['seconds', '÷ expert', 'Node CPU s', 'Postgres CPU s', 'MB on disk']
  console.log(`\n${titles[part].padEnd(36)}${heads.map((head) => head.padStart(15)).join('')}`)
  for (const name of present) {
    const values = [
      results.median(part, name, ({ seconds }) => seconds),
      results.ratio(part, 'expert', name),
      results.median(part, name, ({ nodeCpu }) => nodeCpu),
      results.median(part, name, ({ postgresCpu }) => postgresCpu),
    ].map((value) => value.toFixed(2))
    const size = results.size(part, name)
    const cells = [...values, Number.isNaN(size) ? '' : (size / 1e6).toFixed(0)]
    console.log(`  ${name.padEnd(34)}${cells.map((cell) => cell.padStart(15)).join('')}`)
  }
  printDetails(results.details(part))
}

function printDetails(details: readonly ImportDetails[]): void {
  const of = (value: (detail: ImportDetails) => number) => median(details.map(value)).toFixed(0)
  console.log(
    `  Sluice: claimed after ${of((d) => d.queueWait)} ms, first batch after ${of((d) => d.firstCommit)} ms, ` +
      `locks held for ${of((d) => d.longestTransactions.lockedMs)} ms at most, peak RSS ${of((d) => d.peakMemory / 1e6)} MB`,
  )
}

/** Returns the targets for Sluice's time relative to the others, and for the side effects that users would notice. */
export function targetsOf(results: Results): { part: Part; target: Target }[] {
  const ratio = (
    part: keyof typeof titles,
    must?: number,
    stretch?: number,
    yardstick: 'expert' | 'naive' = 'expert',
  ) => ({
    part,
    target: {
      name: `${titles[part]} ÷ ${yardstick}`,
      measured: results.ratio(part, yardstick),
      must,
      stretch,
      digits: 2,
    } satisfies Target,
  })
  const longest = results.details().map(({ longestTransactions }) => longestTransactions)
  const lockedLongest = longest.toSorted((one, other) => other.lockedMs - one.lockedMs)[0]
  const size = results.size('first', 'Sluice') / results.size('first', 'expert')
  return [
    ratio('first', 0.85, 0.65),
    ratio('again', 0.4, 0.25),
    ratio('changed', 0.5, 0.35),
    ratio('first', 0.35, 0.25, 'naive'),
    ratio('wide', 1, 0.7),
    ratio('narrow', 1, 0.7),
    ratio('invalid', 1, 0.7),
    ratio('gzip', 1, 0.7),
    ratio('shuffled'),
    {
      part: 'first',
      target: {
        name: `locks of a batch, at most, ms (${lockedLongest?.activity})`,
        measured: lockedLongest?.lockedMs ?? Number.NaN,
        must: 500,
        stretch: undefined,
        digits: 0,
      },
    },
    {
      part: 'first',
      target: {
        name: '  its transaction, with its wait for the preceding batch, ms',
        measured: Math.max(...longest.map(({ ageMs }) => ageMs)),
        must: undefined,
        stretch: undefined,
        digits: 0,
      },
    },
    {
      part: 'first',
      target: { name: 'bytes on disk ÷ expert', measured: size, must: 2, stretch: undefined, digits: 2 },
    },
  ]
}
