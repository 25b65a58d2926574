import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { ExportView, ValueType } from '@sluice/contract'
import type pg from 'pg'
import { to } from 'pg-copy-streams'
import { openScratch } from '../../environment/scratch.ts'
import { until } from '../../environment/wait.ts'
import { peakMemory, watchMemory } from '../../memory/peak-memory.ts'
import { type App, openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { connectTo } from './import/postgres.ts'
import { median, printTargets, type Target } from './measuring.ts'

const longestMs = 10 * 60_000
const pollMs = 100

/** A key: name, type, and the SQL expression of the value of user `i`. */
type BenchKey = readonly [name: string, type: ValueType, value: string]

const keys: readonly BenchKey[] = [
  ['name', 'string', `'Given ' || i % 1000 || ' Family, ' || i % 77`],
  ['city', 'string', `'City ' || i % 500`],
  ['plan', 'string', `(array['free', 'basic', 'team'])[1 + i % 3]`],
  ['age', 'int', '18 + i % 70'],
  ['visits', 'int', 'i * 7919 % 100000'],
  ['score', 'decimal', '(i * 104729 % 100000) / 1000.0'],
  ['balance', 'decimal', '(i * 1299709 % 10000000) / 100.0'],
  ['joined', 'datetime', `to_char('2010-01-01'::timestamp + i % 5000 * interval '1 day', 'YYYY-MM-DD HH24:MI:SS.MS')`],
  ['seen', 'datetime', `to_char('2026-01-01'::timestamp + i % 9999999 * interval '1 s', 'YYYY-MM-DD HH24:MI:SS.MS')`],
]

/**
 * Compares an export of nine keys to `copy (…) to stdout` piped through gzip, and measures the worker's memory.
 * Compares exports of 9, 200 and 500 keys, each about 100 MB, to a bare `copy` of the same bytes, without compression
 * and storage. `[--users N] [--rounds N]`. Returns whether the targets are met.
 */
export async function benchExport(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { users: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
  })
  const [users, rounds] = [Number(values.users), Number(values.rounds)]
  await using scratch = await openScratch('sluice-bench-export-')
  const stack = await startStack({ env: { RATE_LIMIT_EXPORT: '1000/60s' } })
  const client = await connectTo((await stack.info()).database)
  /** Returns the median ratio of an export's seconds to the seconds of a copy. */
  const compare = async (columns: number, count: number, copy: CopyByHand): Promise<number> => {
    const some = Array.from({ length: columns }, (_, index) => keyOf(index))
    const app = await openApp(stack)
    await fill(client, app, some, count)
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const started = performance.now()
      await copy(client, app, some)
      const copied = (performance.now() - started) / 1000
      const exported = await exportBySluice(stack, client, app, count)
      ratios.push(exported / copied)
      console.log(`${columns} keys, ${count} users: copy ${copied.toFixed(2)} s, export ${exported.toFixed(2)} s`)
    }
    return median(ratios)
  }
  try {
    const workers = async () => (await stack.info()).processes.worker ?? []
    const idle = Math.max(...(await Promise.all((await workers()).map(peakMemory))))
    const memory = watchMemory(workers)
    const throughGzip = await compare(keys.length, users, (...of) =>
      copyThroughGzip(join(scratch.path, 'copy.gz'), ...of),
    )
    const peak = await memory.end()
    const targets: Target[] = [
      { name: 'export ÷ copy through gzip', measured: throughGzip, must: 1.5, stretch: 1 },
      { name: 'memory of exports, beside the idle worker, MB', measured: toMB(peak - idle), must: 150, digits: 0 },
      { name: 'peak RSS of the worker, MB', measured: toMB(peak), digits: 0 },
    ]
    for (const columns of [9, 200, 500]) {
      const measured = await compare(columns, Math.ceil((users * 6.4) / columns), bareCopy)
      targets.push({ name: `export of ${columns} keys ÷ bare copy`, measured, must: 2, stretch: 1.5 })
    }
    return printTargets(targets)
  } finally {
    await client.end()
    await stack.stop()
  }
}

const toMB = (bytes: number) => Math.ceil(bytes / 1e6)

/** Returns a key with the type and values of one of the nine keys. */
function keyOf(index: number): BenchKey {
  const [name, type, value] = keys[index % keys.length] as BenchKey
  return [`${name} ${index}`, type, value]
}

/** Registers keys and users of an app, with a profile for each user. */
async function fill(client: pg.Client, { appId }: App, columns: readonly BenchKey[], users: number): Promise<void> {
  const userId = `'user-' || lpad(i::text, 8, '0')`
  const names = columns.map(([key]) => `'${key}'`)
  const values = columns.map(([, , value]) => `(${value})::text`)
  for (const [key, type] of columns) {
    await client.query('insert into profile_keys (app_id, key, type) values ($1, $2, $3)', [appId, key, type])
  }
  const all = `from generate_series(1::bigint, ${users}) i`
  await client.query(`insert into users (app_id, user_id) select ${appId}, ${userId} ${all}`)
  await client.query(
    `insert into profiles (app_id, user_id, attributes) select ${appId}, ${userId}, hstore(array[${names}], array[${values}]) ${all}`,
  )
  await client.query('vacuum analyze users, profiles')
  await client.query('checkpoint')
}

type CopyByHand = (client: pg.Client, app: App, columns: readonly BenchKey[]) => Promise<unknown>

const cellsOf = (columns: readonly BenchKey[]) =>
  columns.map(([key]) => `attributes -> '${key}' as "${key}"`).join(', ')

/** Exports as an expert does. */
async function copyThroughGzip(file: string, client: pg.Client, { appId }: App, columns: readonly BenchKey[]) {
  const copy = to(`copy (
    select u.user_id, ${cellsOf(columns)} from users u left join profiles p using (app_id, user_id)
    where app_id = ${appId} order by u.user_id
  ) to stdout with (format csv, header)`)
  const gzip = spawn('gzip', ['-1'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const written = pipeline(gzip.stdout, createWriteStream(file))
  await Promise.all([pipeline(client.query(copy), gzip.stdin), written, once(gzip, 'close')])
}

/** Copies the values as Postgres has them, unpacking each profile once, and drops the bytes. */
async function bareCopy(client: pg.Client, { appId }: App, columns: readonly BenchKey[]) {
  const copy = to(`copy (
    select user_id, ${cellsOf(columns)} from (
      select user_id, attributes || ''::hstore as attributes from users left join profiles using (app_id, user_id)
      where app_id = ${appId} order by user_id offset 0
    ) p
  ) to stdout with (format csv)`)
  await pipeline(client.query(copy), new Writable({ write: (_chunk, _encoding, done) => done() }))
}

/** Exports all keys of an app. Returns the seconds from the claim of the export to its completion. */
async function exportBySluice({ api }: RunningStack, client: pg.Client, app: App, users: number): Promise<number> {
  const headers = { 'X-Service-Token': app.token, 'Content-Type': 'application/json' }
  const requested = await fetch(`${api}/v1/exports`, { method: 'POST', headers, body: '{}' })
  const { export_id: exportId } = (await requested.json()) as { export_id: string }
  const poll = async () => {
    await delay(pollMs)
    const view = (await (await fetch(`${api}/v1/exports/${exportId}`, { headers })).json()) as ExportView
    return view.finished_at !== null && view
  }
  const view = await until('the end of the export', poll, longestMs)
  assert.deepEqual([view.state, view.rows], ['completed', users])
  const { rows } = await client.query<{ seconds: number }>(
    'select extract(epoch from finished_at - started_at)::float8 as seconds from exports where export_id = $1',
    [exportId],
  )
  return rows[0]?.seconds ?? Number.NaN
}
