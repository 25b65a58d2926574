import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { until } from '../../../environment/wait.ts'
import { signal, stillRunning } from '../../../stack/processes.ts'
import { median, printTargets, type Target } from '../measuring.ts'
import { measureMemory } from '../memory.ts'
import { type Contender, expert, floor, measure, naive } from './contender.ts'
import { runningFor } from './cpu.ts'
import { type BenchEnvironment, openBenchEnvironment, templates } from './environment.ts'
import { type MadeFile, type Shape, shapesOf } from './file.ts'
import type { BenchPostgres } from './postgres.ts'
import { type Part, phases, printResults, type Run, targetsOf, variants } from './report.ts'
import { sluice, watchImport } from './sluice.ts'
import { openStackSession } from './stack-session.ts'

const parts = [...phases, ...variants, 'start', 'memory'] as const

/** The file of the memory measurement has this many bytes for each row of the other files: 1 GB for 1,000,000 rows. */
const largeFileBytes = 1000

const log = (line: string) => console.error(line)

/**
 * Compares imports of Sluice to COPY, an expert's and a naive import, and measures the start of a worker and its
 * memory. `[--rows N] [--rounds N] [--only first,again,…]`. Returns whether every required target is met.
 */
export async function benchImport(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: parts.join(',') },
    },
  })
  const [rows, rounds] = [positive('--rows', values.rows), positive('--rounds', values.rounds)]
  const wanted = values.only.split(',')
  const unknown = wanted.filter((name) => !(parts as readonly string[]).includes(name))
  if (unknown.length > 0) throw new Error(`--only ${unknown}: there are ${parts.join(', ')}`)
  const isWanted = (part: string) => wanted.includes(part)
  const targets: Target[] = []
  if ([...phases, ...variants].some(isWanted)) {
    const runs = await runContenders(rows, rounds, isWanted)
    printResults(runs, rounds)
    targets.push(...targetsOf(runs, isWanted))
  }
  if (isWanted('memory')) {
    log('a large file')
    targets.push(...(await measureMemory({ bytes: rows * largeFileBytes, users: rows })))
  }
  if (isWanted('start')) {
    log('start of a worker')
    const measured = await measureStartUp(rounds)
    const [fromStart, fromClaim] = (['fromStart', 'fromClaim'] as const).map((since) =>
      median(measured.map((one) => one[since])),
    ) as [number, number]
    targets.push(
      {
        name: 'start of the worker process to first committed batch, ms',
        ...{ measured: fromStart, must: 300, stretch: 150, digits: 0 },
      },
      { name: '  of this, from its claim of the import, ms', measured: fromClaim, digits: 0 },
    )
  }
  return printTargets(targets)
}

function positive(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new Error(`${name} must be a whole number above 0`)
}

/**
 * Runs the contenders one at a time, round by round, and compares their end states.
 *
 * Returns the measurements. Throws if an import does not end as it should, or if two contenders wrote different
 * profiles.
 */
async function runContenders(rows: number, rounds: number, isWanted: (part: Part) => boolean): Promise<Run[]> {
  const shapes = shapesOf(rows)
  log(`registering the users of ${rows} rows`)
  await using environment = await openBenchEnvironment(rows)
  const { postgres, home } = environment
  const all = [floor(postgres), expert(postgres), naive(postgres), sluice(postgres, home)]
  const expertAndSluice = all.filter(({ name }) => name === 'expert' || name === 'Sluice')
  const runs: Run[] = []
  const copyTemplates = async (contenders: readonly Contender[]) => {
    for (const { template, database } of contenders) await postgres.copyDatabase(template, database)
  }
  for (let round = 0; round < rounds; round++) {
    log(`round ${round + 1} of ${rounds}`)
    // Each phase begins with the result of the preceding phase.
    const wantedPhases = phases.slice(0, phases.findLastIndex(isWanted) + 1)
    if (wantedPhases.length > 0) await copyTemplates(all)
    for (const phase of wantedPhases) {
      const shape = shapes[phase === 'changed' ? 'changed' : 'first']
      runs.push(...(await runPart(environment, phase, inTurn(all, round), () => shape)))
    }
    for (const variant of variants.filter(isWanted)) {
      await copyTemplates(expertAndSluice)
      const shapeFor = ({ name }: Contender) =>
        variant === 'invalid' && name === 'expert' ? shapes.valid : shapes[variant]
      runs.push(...(await runPart(environment, variant, inTurn(expertAndSluice, round), shapeFor)))
    }
  }
  return runs
}

/** Returns the contenders so that the first one changes with the round. */
function inTurn(contenders: readonly Contender[], round: number): Contender[] {
  const first = round % contenders.length
  return [...contenders.slice(first), ...contenders.slice(0, first)]
}

/** Measures each contender's import of a file. Throws if they wrote different profiles. */
async function runPart(
  environment: BenchEnvironment,
  part: Part,
  contenders: readonly Contender[],
  shapeFor: (contender: Contender) => Shape,
): Promise<Run[]> {
  const runs: Run[] = []
  const files = new Map<Contender, MadeFile>()
  for (const contender of contenders) files.set(contender, await environment.file(shapeFor(contender)))
  for (const [contender, file] of files) {
    const measured = await measure(environment.postgres, contender, file)
    runs.push({ ...measured, part, name: contender.name, size: Number.NaN })
    log(`${part.padEnd(10)}${contender.name.padEnd(8)}${measured.seconds.toFixed(2).padStart(8)} s`)
  }
  const states: string[] = []
  for (const [{ name, database }, file] of files) {
    if (name === 'COPY') continue
    const value = name === 'Sluice' ? '->' : '->>'
    const { state, size } = await endState(environment.postgres, { database, value }, file)
    states.push(state)
    for (const run of runs) if (run.name === name) run.size = size
  }
  if (new Set(states).size !== 1) throw new Error(`${part}: the end states differ\n${states.join('\n')}`)
  return runs
}

/**
 * Reads the profiles that a contender has written: their number, and a hash of all users and their values. Numbers are
 * compared as numbers and times as instants, whatever their text. `value` is the operator for the text of a value.
 * `size` is the disk space of users and profiles with their indexes, after a vacuum, bytes.
 */
async function endState(
  postgres: BenchPostgres,
  { database, value }: { database: string; value: '->' | '->>' },
  { columns }: MadeFile,
): Promise<{ state: string; size: number }> {
  const types = { string: 'text', int: 'numeric', decimal: 'numeric', datetime: 'timestamptz' }
  const values = columns.map(({ name, type }) => `(attributes ${value} '${name}')::${types[type]}`)
  const { rows } = await postgres.run(
    database,
    `select count(*) || ' profiles, hash ' ||
        sum(hashtextextended(user_id, hash_record_extended(row(${values.join(', ')}), 0))::numeric) as state,
      (pg_total_relation_size('users') + pg_total_relation_size('profiles'))::float8 as size
    from profiles where attributes <> '${value === '->' ? '' : '{}'}'`,
  )
  return rows[0]
}

/** Enough rows for some batches, so that the import is still running when its first batch is observed. */
const rowsOfStart = 20_000

/** How long a worker takes until its first committed batch, ms. */
interface StartUp {
  /** From the start of the worker's process, which finds the job waiting. */
  fromStart: number
  /** From the time at which that process claims the import. */
  fromClaim: number
}

/** Ends the worker of a running stack, enqueues an import, and observes the worker that the stack starts instead. */
async function measureStartUp(rounds: number): Promise<StartUp[]> {
  await using environment = await openBenchEnvironment(rowsOfStart)
  const measured: StartUp[] = []
  for (let round = 0; round < rounds; round++) measured.push(await startUp(environment))
  return measured
}

async function startUp({ postgres, home, file: make }: BenchEnvironment): Promise<StartUp> {
  const database = 'bench_start'
  await postgres.copyDatabase(templates.sluice, database)
  const session = await openStackSession(postgres, database, home)
  try {
    const file = await make(shapesOf(rowsOfStart).first)
    await session.upload(file)
    const ended = await session.workerPid()
    assert(ended !== undefined, 'the stack has no worker')
    signal(ended, 'SIGTERM')
    await until('the end of the worker', async () => (await stillRunning([ended])).length === 0)
    const importId = await session.enqueue(file)
    const { firstCommitAt, claimedAt } = await watchImport(session.client, importId, file)
    const worker = await until('another worker', async () => {
      const pid = await session.workerPid()
      return pid !== ended && pid
    })
    const startedAt = Date.now() - (await runningFor(worker)) * 1000
    return { fromStart: firstCommitAt - startedAt, fromClaim: firstCommitAt - claimedAt }
  } finally {
    await session.close()
  }
}
