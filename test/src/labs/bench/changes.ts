import { parseArgs } from 'node:util'
import { type Measured, measure } from './import/contender.ts'
import { type BenchEnvironment, openBenchEnvironment, templates } from './import/environment.ts'
import { type MadeFile, shapesOf } from './import/file.ts'
import type { BenchPostgres } from './import/postgres.ts'
import { sluice } from './import/sluice.ts'
import type { ImportKind } from './import/stack-session.ts'
import { median, printRow, printTargets, type Target } from './measuring.ts'

const keeping = 'import that keeps changes'

type FileName = 'first' | 'narrow' | 'replaced' | 'changed'

/** An import of a file. */
type Step = readonly [name: string, kind: ImportKind, file: FileName]

/** What is compared runs one after the other. A round begins with users who have no profiles. */
const turns: readonly (readonly Step[])[] = [
  [
    ['first', 'import', 'first'],
    ['first, kept', keeping, 'first'],
  ],
  [
    ['identical', 'import', 'first'],
    ['identical, kept', keeping, 'first'],
    ['identical, dry run', 'dry run', 'first'],
  ],
  [
    ['10 % changed', 'import', 'changed'],
    ['10 % changed, kept', keeping, 'changed'],
  ],
  // An undo is always of the last import.
  [['10 % changed, undo', 'undo', 'changed']],
  [['one value a row, kept', keeping, 'narrow']],
  [['one value a row, undo', 'undo', 'narrow']],
  [['nine values a row, kept', keeping, 'replaced']],
  [['nine values a row, undo', 'undo', 'replaced']],
]

/** What is compared with what, and the highest allowed ratio. */
const ratios: readonly [name: string, yardstick: string, must?: number][] = [
  ['first, kept', 'first', 1.6],
  ['identical, kept', 'identical', 1.25],
  ['10 % changed, kept', '10 % changed', 1.25],
  ['identical, dry run', 'identical', 1],
  ['10 % changed, undo', '10 % changed, kept', 1.5],
  ['one value a row, undo', 'one value a row, kept', 1.5],
  ['nine values a row, undo', 'nine values a row, kept', 1.5],
]

type Round = Map<string, Measured>

/**
 * Compares imports that keep their changes with imports that do not, dry runs with imports, and undos with the imports
 * that they undo: `[--rows N] [--rounds N]`. An undo is of about N values. Returns whether the targets are met.
 */
export async function benchChanges(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { rows: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
  })
  const rows = Number(values.rows)
  await using environment = await openBenchEnvironment(rows)
  const rounds: Round[] = []
  for (let number = 0; number < Number(values.rounds); number++) rounds.push(await runRound(environment, rows, number))
  return print(rounds)
}

async function runRound(environment: BenchEnvironment, rows: number, number: number): Promise<Round> {
  const { postgres, home } = environment
  for (const database of databases) await postgres.copyDatabase(templates.sluice, database)
  const shapes = shapesOf(rows)
  const round: Round = new Map()
  for (const turn of turns) {
    const begin = number % turn.length
    for (const [name, kind, fileName] of [...turn.slice(begin), ...turn.slice(0, begin)]) {
      const database = databases[kind === 'import' || kind === 'dry run' ? 0 : 1]
      const file = await environment.file(shapes[fileName])
      const read = kind === 'undo' ? { ...file, ...(await linesToUndo(postgres, database)) } : file
      const measured = await measure(postgres, sluice(postgres, home, { database, kind }), read)
      round.set(name, measured)
      console.error(`${name.padEnd(30)}${measured.seconds.toFixed(2).padStart(8)} s`)
    }
  }
  return round
}

/** The first is for imports that keep no changes, the second for imports that keep them. */
const databases = ['bench_plain', 'bench_kept'] as const

/** Returns the counts of the undo of the last import. */
async function linesToUndo(postgres: BenchPostgres, database: string): Promise<Pick<MadeFile, 'written' | 'failing'>> {
  const { rows } = await postgres.run(
    database,
    `select sum(of_key.value::integer)::integer as lines
    from (select changes from imports order by queued_at desc limit 1) last,
      jsonb_each(changes -> 'keys') keys, jsonb_each_text(keys.value) of_key`,
  )
  return { written: rows[0].lines, failing: 0 }
}

function print(rounds: readonly Round[]): boolean {
  const figures = (name: string, figure: (measured: Measured) => number) =>
    rounds.flatMap((round) => {
      const measured = round.get(name)
      return measured === undefined ? [] : [figure(measured)]
    })
  const seconds = (name: string) => figures(name, (measured) => measured.seconds)
  const cpu = (name: string) => figures(name, ({ nodeCpu, postgresCpu }) => nodeCpu + postgresCpu)
  const peak = (name: string) => figures(name, ({ details }) => (details?.peakMemory ?? Number.NaN) / 1e6)
  const byRound = (one: readonly number[], other: readonly number[]) =>
    one.map((value, round) => value / (other[round] ?? Number.NaN))
  console.log(`Medians of ${rounds.length} rounds; ratios are medians of the rounds' own ratios.`)
  printRow('', ['seconds', 'Node CPU s', 'Postgres CPU s', 'peak MB'], [30, 16])
  for (const [name] of turns.flat()) {
    const cells = [
      seconds(name),
      figures(name, ({ nodeCpu }) => nodeCpu),
      figures(name, (m) => m.postgresCpu),
      peak(name),
    ]
    printRow(
      name,
      cells.map((values) => median(values).toFixed(2)),
      [30, 16],
    )
  }
  const targets = ratios.flatMap(([name, yardstick, must]): Target[] => {
    const times = byRound(seconds(name), seconds(yardstick)).toSorted((a, b) => a - b)
    const spread = `${times[0]?.toFixed(2)}–${times.at(-1)?.toFixed(2)}`
    return [
      { name: `${name} ÷ ${yardstick} (${spread})`, measured: median(times), must },
      { name: '  CPU', measured: median(byRound(cpu(name), cpu(yardstick))) },
    ]
  })
  const highest = (names: readonly string[]) => Math.max(...names.map((name) => median(peak(name))))
  const more =
    highest(['first, kept', '10 % changed, kept', 'one value a row, undo']) - highest(['first', '10 % changed'])
  return printTargets([
    ...targets,
    { name: 'memory of the worker: kept − without, MB', measured: more, must: 20, digits: 0 },
  ])
}
