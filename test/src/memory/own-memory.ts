import { readFile } from 'node:fs/promises'

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
