import { type Profiler, Session } from 'node:inspector/promises'
import { parseArgs } from 'node:util'
import { readSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { claimImport, importSettings, runImport } from '@sluice/imports'
import { pino } from 'pino'
import { openBenchEnvironment, templates } from './import/environment.ts'
import { type MadeFile, shapesOf } from './import/file.ts'
import { type ImportKind, importKinds, openStackSession, type StackSession } from './import/stack-session.ts'

/** Stages of a worker, by the file or function that was running when the profiler sampled. The first match counts. */
const stages: readonly [name: string, matches: RegExp][] = [
  ['waiting', /^\(idle\)/],
  ['collecting garbage', /^\(garbage collector\)/],
  ['splitting rows', /engine\/csv\//],
  ['hashing rows', /batches\/src\/hashes|wasm/],
  ['checking and converting cells', /engine\/(profiles\/src\/values|batches\/src\/documents)\/|RegExp:/],
  ['processing batches', /engine\/(batches|imports|profiles)\//],
  ['talking to Postgres', /node_modules\/(pg|pg-protocol|pg-pool|kysely)\/|stores\/database\//],
  ['writing to sockets', /^(writev|writeBuffer|writeLatin1String|writeUtf8String) /],
  ['reading from storage', /_http_|node_modules\/@(aws-sdk|smithy)|stores\/storage\/|internal\/(streams|stream_base)/],
  ['all else', /./],
]

const microseconds = 1e6

/**
 * Imports a file in this process under a profiler, and prints the CPU seconds per million rows by stage, in Node and in
 * Postgres. `[--rows N] [--kind 'import that keeps changes']`. Always returns true: there is no target.
 */
export async function benchStages(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { rows: { type: 'string', default: '500000' }, kind: { type: 'string', default: 'import' } },
  })
  const rows = Number(values.rows)
  const kind = importKinds.find((each) => each === values.kind)
  await using environment = await openBenchEnvironment(rows)
  await environment.postgres.copyDatabase(templates.sluice, 'bench_stages')
  const session = await openStackSession(environment.postgres, 'bench_stages', environment.home)
  const { first, changed } = shapesOf(rows)
  const results: Record<string, Map<string, number>> = {}
  for (const [name, shape] of [['first', first] as const, ['again', first] as const, ['changed', changed] as const]) {
    const before = await environment.postgres.cpu()
    const found = await profiledImport(
      session,
      environment.postgres.urlOf('bench_stages'),
      await environment.file(shape),
      kind,
    )
    found.set('Postgres', (await environment.postgres.cpu()) - before)
    results[name] = new Map([...found].map(([stage, seconds]) => [stage, (seconds * 1e6) / rows]))
  }
  await session.close()
  print(results)
  return true
}

/** Runs an import of a file in this process. Returns seconds by stage. */
async function profiledImport(
  session: StackSession,
  databaseUrl: string,
  file: MadeFile,
  kind: ImportKind | undefined,
): Promise<Map<string, number>> {
  await session.upload(file)
  const database = connect(databaseUrl)
  const settings = readSettings({ API_URL: 'http://api.test' }, importSettings)
  const context = { db: database.db, storage: session.storage, settings, log: pino({ level: 'silent' }) }
  const profiler = new Session()
  profiler.connect()
  await profiler.post('Profiler.enable')
  const id = await session.insertImport(file, kind)
  await profiler.post('Profiler.start')
  const claim = await claimImport(context, id)
  if (claim === undefined) throw new Error(`import ${id.importId} cannot be claimed`)
  const outcome = await runImport(context, claim, new AbortController().signal)
  const { profile } = await profiler.post('Profiler.stop')
  profiler.disconnect()
  await database.close()
  if (outcome.outcome !== 'completed') throw new Error(`the import was ${outcome.outcome}`)
  return secondsByStage(profile)
}

function secondsByStage({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Map<string, number> {
  const stageOf = new Map(
    nodes.map(({ id, callFrame: { functionName, url } }) => {
      const place = `${functionName} ${url}`
      return [id, stages.find(([, matches]) => matches.test(place))?.[0] ?? '']
    }),
  )
  const seconds = new Map(stages.map(([name]) => [name, 0]))
  for (const [index, node] of samples.entries()) {
    const stage = stageOf.get(node) ?? ''
    seconds.set(stage, (seconds.get(stage) ?? 0) + (timeDeltas[index] ?? 0) / microseconds)
  }
  return seconds
}

function print(results: Record<string, Map<string, number>>): void {
  const columns = Object.values(results)
  const line = (name: string, cells: readonly string[]) =>
    console.log(`${name.padEnd(34)}${cells.map((cell) => cell.padStart(10)).join('')}`)
  console.log('CPU seconds per million rows; `waiting` is wall-clock time')
  line('', Object.keys(results))
  for (const stage of columns[0]?.keys() ?? []) {
    line(
      stage,
      columns.map((column) => (column.get(stage) ?? Number.NaN).toFixed(2)),
    )
  }
}
