import assert from 'node:assert/strict'
import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../environment/wait.ts'
import { processTree } from '../../../stack/processes.ts'
import { deadlineMs, fileOf, makeApps, openScaleSession, queueFile, type ScaleSession, spanOf } from './session.ts'

const apps = 8
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
 * one slot. Each file was imported before, so Postgres has little to do, and the workers limit the speed. Throws if
 * this machine lets nobody write control groups.
 */
export async function measureLimited(workers: number, rows: number, share: number): Promise<LimitedResult> {
  await using session = await openScaleSession(workers, { IMPORT_CONCURRENCY: '1' })
  await session.storage.write(objectKey, fileOf(rows), 'text/csv')
  const appIds = await makeApps(session, apps, rows)
  await spanOf(session, await queueFile(session, appIds, objectKey), deadlineMs)
  const pids = await workerPids(session)
  assert.equal(pids.length, workers, 'worker processes')
  await using limits = new AsyncDisposableStack()
  for (const pid of pids) limits.defer(await limitCpu(pid, share))
  const importIds = await queueFile(session, appIds, objectKey)
  const { began, ended, rows: applied } = await spanOf(session, importIds, deadlineMs)
  const waits = await waitsOf(session, importIds)
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length
  return { workers, rowsPerSecond: (applied / (ended - began)) * 1000, longestWait: Math.max(...waits) / mean }
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
  const times = db.selectFrom('imports').select(['queued_at', 'finished_at']).where('import_id', 'in', importIds)
  return (await times.execute()).map(
    (row) => (row.finished_at?.getTime() ?? Number.NaN) - (row.queued_at?.getTime() ?? Number.NaN),
  )
}

const periodUs = 100_000

/** Limits a process to a share of one core by a control group, version 2 or 1. Returns the end of the limit. */
async function limitCpu(pid: number, share: number): Promise<() => Promise<void>> {
  const quotaUs = share * periodUs
  const isVersion2 = await access('/sys/fs/cgroup/cgroup.subtree_control').then(
    () => true,
    () => false,
  )
  const root = isVersion2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpu'
  const limits = isVersion2
    ? { 'cpu.max': `${quotaUs} ${periodUs}` }
    : { 'cpu.cfs_period_us': `${periodUs}`, 'cpu.cfs_quota_us': `${quotaUs}` }
  const group = `${root}/sluice-bench-${pid}`
  await mkdir(group)
  for (const [name, value] of Object.entries(limits)) await writeFile(`${group}/${name}`, value)
  await writeFile(`${group}/cgroup.procs`, `${pid}`)
  return async () => {
    await writeFile(`${root}/cgroup.procs`, `${pid}`).catch(() => {}) // the process has ended
    // A process that has just ended keeps its group busy for a moment.
    const removed = () =>
      rmdir(group).then(
        () => true,
        () => delay(100).then(() => false),
      )
    await until('the end of a control group', removed)
  }
}
