import { glob, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The clock of processes that run with these variables in their environment. */
export interface FakeClock {
  environment: Readonly<Record<string, string>>
  /** Sets the clock ahead of the true time, or behind it if `seconds` is negative. Also while processes run. */
  set(seconds: number): Promise<void>
  /** Removes the shared memory that libfaketime never removes. The processes that `pid` started keep it. */
  forget(pid: number): Promise<void>
}

/**
 * Makes a clock at the true time. Its file is in `folder`. Returns undefined if libfaketime is not installed.
 */
export async function openFakeClock(folder: string): Promise<FakeClock | undefined> {
  const [library] = await Array.fromAsync(glob('/usr/lib/*/faketime/libfaketime.so.1'))
  if (library === undefined) return undefined
  const file = join(folder, 'clock')
  const set = (seconds: number) => writeFile(file, `${seconds < 0 ? '' : '+'}${seconds}\n`)
  await set(0)
  return {
    // Waits of the kernel and of Postgres's event loop depend on the monotonic clock, which no one sets.
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // For times of files, libfaketime takes a lock that dies with a killed process, and all others then wait forever.
      NO_FAKE_STAT: '1',
    },
    set,
    async forget(pid) {
      for (const name of ['faketime_shm_', 'sem.faketime_sem_']) await rm(`/dev/shm/${name}${pid}`, { force: true })
    },
  }
}
