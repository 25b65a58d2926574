import assert from 'node:assert/strict'
import { until } from '../../../environment/wait.ts'
import { cpuOfTree } from '../import/cpu.ts'
import { median } from '../measuring.ts'
import { deadlineMs, fileOf, makeApps, openScaleSession, queueFile, type ScaleSession, spanOf } from './session.ts'

const apps = 4
const smallRows = 1_000
const fairnessRounds = 3
/** Number of large imports of each of the other apps: enough that the small import ends before the last large one. */
const importsOfCrowd = 4

/** Imports that a worker runs at a time: the default of `IMPORT_CONCURRENCY`. */
const importsAtOnce = 2

export interface ThroughputResult {
  workers: number
  /** Rows per second of four large imports together, one for each app, which are queued at the same moment. */
  rowsPerSecond: number
  /** Time of a small import from being queued to its end, while nothing else runs, s. */
  alone: number
  /** Time of a small import while large imports of one other app, or of three other apps, are running, s. */
  besideOne: number
  besideThree: number
}

/** Runs imports of four apps, one large file of `rows` rows each, on `workers` worker processes. */
export async function measureThroughput(workers: number, rows: number): Promise<ThroughputResult> {
  await using session = await openScaleSession(workers)
  const [large, small] = ['bench/large.csv', 'bench/small.csv']
  await session.storage.write(large, fileOf(rows), 'text/csv')
  await session.storage.write(small, fileOf(smallRows), 'text/csv')
  const appIds = await makeApps(session, apps, rows)
  await warmUp(session, appIds, small)
  const [own = 0, ...others] = appIds

  const alone = await rounds(async () => await timeOf(session, own, small))
  const { began, ended, rows: applied } = await spanOf(session, await queueFile(session, appIds, large), deadlineMs)
  const beside = (crowd: readonly number[]) =>
    rounds(async () => {
      const crowding = await queueFile(session, crowd, large, importsOfCrowd)
      const most = Math.min(crowd.length, workers * importsAtOnce)
      await until('the other imports to run', async () => (await countRunning(session, crowding)) >= most, deadlineMs)
      const time = await timeOf(session, own, small)
      assert(
        (await countRunning(session, crowding)) > 0,
        'the large imports ended before the small one: give more --rows',
      )
      await spanOf(session, crowding, deadlineMs)
      return time
    })
  return {
    workers,
    rowsPerSecond: (applied / (ended - began)) * 1000,
    alone,
    besideOne: await beside(others.slice(0, 1)),
    besideThree: await beside(others),
  }
}

async function countRunning({ db }: ScaleSession, importIds: readonly string[]): Promise<number> {
  const rows = await db
    .selectFrom('imports')
    .select('app_id')
    .where('import_id', 'in', importIds)
    .where('state', '=', 'processing')
    .execute()
  return rows.length
}

async function timeOf(session: ScaleSession, appId: number, objectKey: string): Promise<number> {
  const { queued, ended } = await spanOf(session, await queueFile(session, [appId], objectKey), deadlineMs)
  return (ended - queued) / 1000
}

async function warmUp(session: ScaleSession, appIds: readonly number[], objectKey: string): Promise<void> {
  await spanOf(session, await queueFile(session, appIds, objectKey, 3), deadlineMs)
}

async function rounds(measure: () => Promise<number>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < fairnessRounds; round++) times.push(await measure())
  return median(times)
}

const importsOfApp = 10
const objectKey = 'bench/one-row.csv'

/** The cost of many imports that are queued at the same moment. */
export interface DrainResult {
  imports: number
  apps: number
  /** From the first claim to the last end, per import, ms. */
  time: number
  /** CPU of all processes but Redis, per import, ms: it hardly depends on the machine's other load. */
  cpu: number
}

/**
 * Measures how fast two workers complete waiting imports: ten imports of one row for each app. Repeats this for each
 * number of apps.
 */
export async function measureDrain(appCounts: readonly number[]): Promise<DrainResult[]> {
  await using session = await openScaleSession(2)
  await session.storage.write(objectKey, Buffer.from('user_id,n\nuser-1,1\n'), 'text/csv')
  await drain(session, 100) // processes and tables warm up: not measured
  const results: DrainResult[] = []
  for (const apps of appCounts) results.push(await drain(session, apps))
  return results
}

async function drain(session: ScaleSession, apps: number): Promise<DrainResult> {
  const appIds = await makeApps(session, apps, 1)
  const { pid } = await session.stack.info()
  const before = await cpuOfTree(pid)
  const importIds = await queueFile(session, appIds, objectKey, importsOfApp)
  const { began, ended } = await spanOf(session, importIds, deadlineMs)
  const cpu = (await cpuOfTree(pid)) - before
  return {
    imports: importIds.length,
    apps,
    time: (ended - began) / importIds.length,
    cpu: (cpu * 1000) / importIds.length,
  }
}
