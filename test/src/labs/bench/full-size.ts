import { parseArgs } from 'node:util'
import { type Contender, expert, type Measured, measure } from './import/contender.ts'
import { openBenchEnvironment } from './import/environment.ts'
import { shapesOf } from './import/file.ts'
import type { BenchPostgres } from './import/postgres.ts'
import { sluice } from './import/sluice.ts'
import { printRow, printTargets } from './measuring.ts'

/** What is imported one after another: a file, the same again, and with other values in one row in a hundred. */
const phases = ['first', 'again', 'daily'] as const
type Phase = (typeof phases)[number]

/** Rows of the small file. The time per row of the large file is compared to the time per row of this file. */
const smallRows = 1_000_000

interface Run extends Measured {
  rows: number
  phase: Phase
  contender: Contender['name']
  /** What Postgres did for it, by the heads of {@link workOf}. */
  work: Record<string, number>
}

/**
 * Imports a file of 1 GB, in which each user occurs once in shuffled order, and a small file of the same kind. Sluice
 * and the expert (COPY and one hand-made MERGE) each import the files of all {@link phases}. Postgres has the settings
 * that `npm start` gives it on this machine. `[--rows N]`. Returns whether the targets are met.
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
  const { shuffled, daily } = shapesOf(rows)
  const files = { first: await environment.file(shuffled), daily: await environment.file(daily) }
  const runs: Run[] = []
  for (const contender of [expert(postgres), sluice(postgres, home)]) {
    await postgres.copyDatabase(contender.template, contender.database)
    for (const phase of phases) {
      const before = await workOf(postgres)
      const measured = await measure(postgres, contender, files[phase === 'again' ? 'first' : phase])
      const after = Object.entries(await workOf(postgres))
      const work = Object.fromEntries(after.map(([name, value]) => [name, value - (before[name] ?? 0)]))
      runs.push({ ...measured, rows, phase, contender: contender.name, work })
      console.error(`${rows} rows, ${phase}, ${contender.name}: ${measured.seconds.toFixed(1)} s`)
    }
    // Makes room for the next contender: the page cache would not hold the databases of both.
    await postgres.run('postgres', `drop database ${contender.database} with (force)`)
  }
  return runs
}

/**
 * Returns what a server has done so far: MB of its log (WAL), pages that went to the log as a whole because they
 * changed for the first time since a checkpoint, pages that were not in its buffers, and checkpoints.
 */
async function workOf(postgres: BenchPostgres): Promise<Record<string, number>> {
  const { rows } = await postgres.run(
    'postgres',
    `select (wal_bytes / 1e6)::float8 as "log MB", wal_fpi::float8 as "page images",
      (select sum(blks_read)::float8 from pg_stat_database) as "pages read",
      (select (num_timed + num_requested)::float8 from pg_stat_checkpointer) as checkpoints
    from pg_stat_wal`,
  )
  return rows[0]
}

function print(runs: readonly Run[]): void {
  const widths = [30, 13] as [number, number]
  printRow('', ['seconds', 'µs a row', 'Node µs', 'Postgres µs', ...Object.keys(runs[0]?.work ?? {})], widths)
  for (const { rows, phase, contender, seconds, nodeCpu, postgresCpu, work } of runs) {
    const perRow = [seconds, nodeCpu, postgresCpu].map((value) => ((value * 1e6) / rows).toFixed(1))
    const cells = [seconds.toFixed(1), ...perRow, ...Object.values(work).map((value) => value.toFixed(0))]
    printRow(`${(rows / 1e6).toFixed(1)} million, ${phase}, ${contender}`, cells, widths)
  }
}

function targetsOf(runs: readonly Run[], largeRows: number) {
  const seconds = (rows: number, phase: Phase, contender: Contender['name']) =>
    runs.find((run) => run.rows === rows && run.phase === phase && run.contender === contender)?.seconds ?? Number.NaN
  const ratio = (phase: Phase) => seconds(largeRows, phase, 'Sluice') / seconds(largeRows, phase, 'expert')
  const rowAtSize = (rows: number) => seconds(rows, 'first', 'Sluice') / rows
  return [
    { name: 'large file, first ÷ expert', measured: ratio('first'), must: 0.5 },
    { name: 'large file, again ÷ expert', measured: ratio('again'), must: 0.15, stretch: 0.08 },
    { name: 'large file, 1 % changed ÷ expert', measured: ratio('daily'), must: 0.18 },
    {
      name: 'time of a row, large ÷ small file',
      measured: rowAtSize(largeRows) / rowAtSize(smallRows),
      must: 1.5,
      stretch: 1.2,
    },
  ]
}
