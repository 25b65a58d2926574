import { parseArgs } from 'node:util'
import { type Contender, type Measured, measure } from './import/contender.ts'
import { openBenchEnvironment, templates } from './import/environment.ts'
import { expert } from './import/expert.ts'
import { shapesOf } from './import/file.ts'
import { type ServerWork, serverWork, workBetween } from './import/server-work.ts'
import { sluice } from './import/sluice.ts'
import { printTargets } from './targets.ts'

const phases = ['first', 'again'] as const
type Phase = (typeof phases)[number]

/** Rows of the small file. The time per row of the large file is compared to the time per row of this file. */
const smallRows = 1_000_000

/** One import, and what Postgres did for it. */
interface Run extends Measured {
  rows: number
  phase: Phase
  contender: Contender['name']
  work: ServerWork
}

/**
 * Imports a file of 1 GB, in which each user occurs once in shuffled order, and a small file of the same kind. Sluice
 * and the expert (COPY and one hand-made MERGE) each import a file twice: as first import, and again. Postgres has the
 * settings that `npm start` gives it on this machine. `[--rows N]`. Returns whether the targets are met.
 */
export async function benchFullSize(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({ args: [...args], options: { rows: { type: 'string', default: '9000000' } } })
  const largeRows = Number(values.rows)
  const runs: Run[] = []
  for (const rows of [smallRows, largeRows]) runs.push(...(await importBoth(rows)))
  print(runs)
  return printTargets(targetsOf(runs, largeRows))
}

async function importBoth(rows: number): Promise<Run[]> {
  console.error(`${rows} rows: registering users and writing the file`)
  await using environment = await openBenchEnvironment(rows, true)
  const { postgres, home } = environment
  const file = await environment.file(shapesOf(rows).shuffled)
  const runs: Run[] = []
  for (const contender of [expert(postgres, templates.yardsticks), sluice(postgres, templates.sluice, home)]) {
    await postgres.copyDatabase(contender.template, contender.database)
    for (const phase of phases) {
      const before = await serverWork(postgres)
      const measured = await measure(postgres, contender, file)
      const work = workBetween(before, await serverWork(postgres))
      runs.push({ ...measured, rows, phase, contender: contender.name, work })
      console.error(`${rows} rows, ${phase}, ${contender.name}: ${measured.seconds.toFixed(1)} s`)
    }
    // Makes room for the next contender: the page cache would not hold the databases of both.
    await postgres.run('postgres', `drop database ${contender.database} with (force)`)
  }
  return runs
}

function print(runs: readonly Run[]): void {
  const heads = ['seconds', 'µs a row', 'Node µs', 'Postgres µs', 'log MB', 'page images', 'pages read', 'checkpoints']
  const width = 13
  console.log(`${''.padEnd(30)}${heads.map((head) => head.padStart(width)).join('')}`)
  for (const { rows, phase, contender, seconds, nodeCpu, postgresCpu, work } of runs) {
    const perRow = (value: number) => ((value * 1e6) / rows).toFixed(1)
    const cells = [
      seconds.toFixed(1),
      perRow(seconds),
      perRow(nodeCpu),
      perRow(postgresCpu),
      (work.walBytes / 1e6).toFixed(0),
      work.pageImages.toFixed(0),
      work.pagesRead.toFixed(0),
      work.checkpoints.toFixed(0),
    ]
    const name = `${(rows / 1e6).toFixed(1)} million, ${phase}, ${contender}`
    console.log(`${name.padEnd(30)}${cells.map((cell) => cell.padStart(width)).join('')}`)
  }
}

function targetsOf(runs: readonly Run[], largeRows: number) {
  const seconds = (rows: number, phase: Phase, contender: Contender['name']) =>
    runs.find((run) => run.rows === rows && run.phase === phase && run.contender === contender)?.seconds ?? Number.NaN
  const ratio = (phase: Phase) => seconds(largeRows, phase, 'Sluice') / seconds(largeRows, phase, 'expert')
  const rowAtSize = (rows: number) => seconds(rows, 'first', 'Sluice') / rows
  return [
    { name: 'large file, first ÷ expert', measured: ratio('first'), must: 0.6, stretch: 0.45, digits: 2 },
    { name: 'large file, again ÷ expert', measured: ratio('again'), must: 0.25, stretch: 0.15, digits: 2 },
    {
      name: 'time of a row, large ÷ small file',
      measured: rowAtSize(largeRows) / rowAtSize(smallRows),
      must: 1.5,
      stretch: 1.2,
      digits: 2,
    },
  ] as const
}
