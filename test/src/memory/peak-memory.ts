import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Watches the resident memory of processes that start and end. */
export interface MemoryWatch {
  /** Ends the watch. Returns the peak memory of any single process, bytes. */
  end(): Promise<number>
}

const sampleEvery = 200

/** Watches the memory of processes. Calls `pids` before each measurement to learn which processes to measure. */
export function watchMemory(pids: () => Promise<readonly number[]>): MemoryWatch {
  const ending = new AbortController()
  let peak = 0
  const look = async () => {
    // `pids` may fail, for instance while a stack ends: then there is nothing to measure.
    const running = await pids().catch(() => [])
    const sizes = await Promise.all(running.map(peakMemory))
    peak = Math.max(peak, ...sizes)
  }
  const watching = (async () => {
    while (!ending.signal.aborted) {
      await look()
      await delay(sampleEvery, undefined, { signal: ending.signal, ref: false }).catch(() => {})
    }
  })()
  return {
    async end() {
      ending.abort()
      await watching
      await look()
      return peak
    },
  }
}

/** Returns the peak memory of a process (Linux) or its current memory (elsewhere), bytes; 0 if it has ended. */
export async function peakMemory(pid: number): Promise<number> {
  if (process.platform === 'linux') {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
  }
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]).catch(() => ({ stdout: '0' }))
  return Number(stdout) * 1024
}

/**
 * Returns the memory that a process has for itself, bytes; 0 if it has ended, or where `/proc` does not exist.
 *
 * The pages of its program file do not count. They are some 50 MiB of Node, and the kernel drops them and reads them
 * again whenever it likes, so they would look like growth.
 */
export async function ownMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const parts = [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)].map(([, size]) => Number(size))
  return parts.reduce((sum, size) => sum + size, 0) * 1024
}
