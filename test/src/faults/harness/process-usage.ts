import { readdir, readlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ownMemory } from '../../memory/own-memory.ts'
import type { AppProcess } from './app-process.ts'

export interface Usage {
  /** Own memory after a garbage collection, MiB. */
  memory: number
  /** Open sockets: connections, and the ports that the process listens on. */
  sockets: number
}

/** Options of Node that {@link usageOf} needs in the process. */
export const measurable = [
  '--expose-gc',
  `--import=${fileURLToPath(new URL('collect-on-request.ts', import.meta.url))}`,
] as const

/** Returns what a process holds now. Throws if it has ended. Needs `/proc`, as on Linux. */
export async function usageOf({ pid, ask, exited }: AppProcess): Promise<Usage> {
  const ended = exited.then((end) => {
    throw new Error(`process ${pid} has ended: ${end}`)
  })
  await Promise.race([ask('collect'), ended])
  const folder = `/proc/${pid}/fd`
  // A file may be closed between the listing and the look at it.
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')))
  return {
    memory: Math.round((await ownMemory(pid)) / 2 ** 20),
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
  }
}
