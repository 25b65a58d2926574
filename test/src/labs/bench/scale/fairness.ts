import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { sql } from '@sluice/database'
import { cancelImport } from '@sluice/imports'
import { until } from '../../../environment/wait.ts'
import { printTargets, type Target } from '../targets.ts'
import { makeApps, openScaleSession, queueFile, type ScaleSession } from './session.ts'

const workers = 2
const crowds = [1, 10, 100]
const users = 1_000
const smallRows = 1_000
/** Number of large imports of each of the other apps. Together they run longer than the measurements. */
const importsOfApp = 4
const deadlineMs = 10 * 60_000

/**
 * Measures how long a small import waits for one of two workers, from its upload to its first claim. Beside it, 1, 10
 * and 100 apps have large imports. `[--slice SECONDS] [--rows N] [--rounds N]`. Returns whether each wait is under
 * twice a slice.
 */
export async function benchFairness(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      slice: { type: 'string', default: '5' },
      rows: { type: 'string', default: '400000' },
      rounds: { type: 'string', default: '5' },
    },
  })
  const [slice, rows, rounds] = [Number(values.slice), Number(values.rows), Number(values.rounds)]
  assert(slice > 0 && rows > 0 && rounds > 0)
  const targets: Target[] = []
  for (const crowd of crowds) {
    const waits = await measureWaits(slice, rows, rounds, crowd)
    const text = waits.map((wait) => wait.toFixed(2)).join(', ')
    console.log(`beside ${crowd} apps with large imports, slices of ${slice} s: a small one waited ${text} s`)
    const name = `longest wait beside ${crowd} large ÷ slice`
    targets.push({ name, measured: Math.max(...waits) / slice, must: 2, stretch: undefined, digits: 2 })
  }
  return printTargets(targets)
}

/** Returns the waits of small imports of one app, one after another, s. */
async function measureWaits(slice: number, rows: number, rounds: number, crowd: number): Promise<number[]> {
  await using session = await openScaleSession(workers, { IMPORT_SLICE: `${slice}s` })
  const [large, small] = ['bench/large.csv', 'bench/small.csv']
  await session.storage.write(large, fileOf(rows), 'text/csv')
  await session.storage.write(small, fileOf(smallRows), 'text/csv')
  const [own = 0, ...others] = await makeApps(session, crowd + 1, users)
  const crowding = await queueFile(session, others, large, importsOfApp)
  await until('the large imports to run', async () => (await countRunning(session)) > 0, deadlineMs)
  const waits: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [importId = ''] = await queueFile(session, [own], small)
    waits.push(await until('the end of the small import', () => waitOf(session, importId), deadlineMs))
    assert((await countRunning(session)) > 0, 'the large imports ended before the small ones: give more --rows')
  }
  for (const importId of crowding) await cancelImport(session.db, importId)
  return waits
}

async function countRunning({ db }: ScaleSession): Promise<number> {
  const rows = await db.selectFrom('imports').select('app_id').where('state', '=', 'processing').execute()
  return rows.length
}

/** Returns the wait of an import, s; undefined until it has ended. */
async function waitOf({ db }: ScaleSession, importId: string): Promise<number | undefined> {
  const { rows } = await sql<{ state: string; wait: number }>`
    select state, extract(epoch from started_at - queued_at)::float8 as wait from imports
    where import_id = ${importId} and finished_at is not null
  `.execute(db)
  const [ended] = rows
  if (ended !== undefined && ended.state !== 'completed') throw new Error(`the small import is ${ended.state}`)
  return ended?.wait
}

/** Makes a file with three values a row, of a thousand users. */
function fileOf(rows: number): Buffer {
  const lines = Array.from(
    { length: rows },
    (_, row) => `user-${(row % users) + 1},City ${row % 997},${row % 90},${row}.5\n`,
  )
  return Buffer.from(`user_id,city,age,score\n${lines.join('')}`)
}
