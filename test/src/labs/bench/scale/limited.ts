import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { processTree } from '../../../stack/processes.ts'
import { limitCpu } from './cpu-limit.ts'
import { fileOf, makeApps, openScaleSession, queueFile, type ScaleSession, spanOf } from './session.ts'

const apps = 8
const deadlineMs = 30 * 60_000
const objectKey = 'bench/limited.csv'

/** The results of some number of workers, each limited to a part of a core. */
export interface LimitedResult {
  workers: number
  rowsPerSecond: number
  /** From the moment at which all imports are queued to an import's end: the longest ÷ the mean. */
  longestWait: number
}

/**
 * Runs imports of eight apps, one file of `rows` rows each, on worker processes that have `share` of a core each and
 * one slot. Each file was imported before, so Postgres has little to do, and the workers limit the speed.
 */
export async function measureLimited(workers: number, rows: number, share: number): Promise<LimitedResult> {
  await using session = await openScaleSession(workers, { IMPORT_CONCURRENCY: '1' })
  await session.storage.write(objectKey, fileOf(rows), 'text/csv')
  const appIds = await makeApps(session, apps, rows)
  await spanOf(session, await queueFile(session, appIds, objectKey), deadlineMs)
  const pids = await workerPids(session)
  assert.equal(pids.length, workers, 'worker processes')
  await using _ = await limitCpu(pids, share)
  const importIds = await queueFile(session, appIds, objectKey)
  const { began, ended, rows: applied } = await spanOf(session, importIds, deadlineMs)
  const waits = await waitsOf(session, importIds)
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length
  return {
    workers,
    rowsPerSecond: (applied / (ended - began)) * 1000,
    longestWait: Math.max(...waits) / mean,
  }
}

async function workerPids({ stack }: ScaleSession): Promise<number[]> {
  const { pid } = await stack.info()
  const pids: number[] = []
  for (const each of await processTree(pid)) {
    const command = await readFile(`/proc/${each}/cmdline`, 'utf8').catch(() => '')
    if (command.includes('apps/worker/src/main.ts')) pids.push(each)
  }
  return pids
}

/** Returns the time from queueing to the end of each import, ms. */
async function waitsOf({ db }: ScaleSession, importIds: readonly string[]): Promise<number[]> {
  const rows = await db
    .selectFrom('imports')
    .select(['queued_at', 'finished_at'])
    .where('import_id', 'in', importIds)
    .execute()
  return rows.map((row) => (row.finished_at?.getTime() ?? Number.NaN) - (row.queued_at?.getTime() ?? Number.NaN))
}
