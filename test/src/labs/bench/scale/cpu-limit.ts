import { access, mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const periodUs = 100_000

/** Where control groups for CPU time are made, in version 2 and in version 1, and the file that shows the version. */
const roots = [
  {
    path: '/sys/fs/cgroup',
    mark: 'cgroup.subtree_control',
    limits: (quotaUs: number) => ({ 'cpu.max': `${quotaUs} ${periodUs}` }),
  },
  {
    path: '/sys/fs/cgroup/cpu',
    mark: 'cpu.cfs_quota_us',
    limits: (quotaUs: number) => ({ 'cpu.cfs_period_us': `${periodUs}`, 'cpu.cfs_quota_us': `${quotaUs}` }),
  },
] as const

/**
 * Limits each of these processes to a share of one core: 0.1 is 10 ms in each 100 ms. The limits end with the result.
 * Throws if this machine lets nobody write control groups.
 */
export async function limitCpu(pids: readonly number[], share: number): Promise<AsyncDisposable> {
  const groups = new AsyncDisposableStack()
  try {
    for (const pid of pids) groups.use(await limitProcess(pid, share))
    return groups
  } catch (error) {
    await groups.disposeAsync()
    throw error
  }
}

async function limitProcess(pid: number, share: number): Promise<AsyncDisposable> {
  const failures: unknown[] = []
  for (const { path, mark, limits } of roots) {
    const group = join(path, `sluice-bench-${pid}`)
    try {
      await access(join(path, mark))
      await mkdir(group)
      for (const [name, value] of Object.entries(limits(share * periodUs))) await writeFile(join(group, name), value)
      await writeFile(join(group, 'cgroup.procs'), `${pid}`)
      return { [Symbol.asyncDispose]: () => release(pid, path, group) }
    } catch (error) {
      failures.push(error)
      await rmdir(group).catch(() => {}) // it was not made
    }
  }
  throw new AggregateError(failures, 'this machine has no control groups for CPU time that can be written')
}

/** Moves a process, if it still runs, back to the root, and removes its group. */
async function release(pid: number, root: string, group: string): Promise<void> {
  await writeFile(join(root, 'cgroup.procs'), `${pid}`).catch(() => {})
  // A process that has just ended keeps its group busy for a moment.
  for (let tries = 1; tries <= 50; tries++) {
    const isRemoved = await rmdir(group).then(
      () => true,
      () => false,
    )
    if (isRemoved) return
    await delay(100)
  }
}
