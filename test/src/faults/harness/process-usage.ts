import { readdir, readFile, readlink } from 'node:fs/promises'

/** What a process holds at a moment. */
export interface Usage {
  /** Resident memory, MiB. */
  memory: number
  /** Open sockets: connections, and the ports that the process listens on. */
  sockets: number
}

/** Returns what a process holds now. Throws if it has ended. Needs `/proc`, as on Linux. */
export async function usageOf(pid: number): Promise<Usage> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  if (kibibytes === undefined) throw new Error(`process ${pid} has ended`)
  const folder = `/proc/${pid}/fd`
  // A file may be closed between the listing and the look at it.
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')))
  return {
    memory: Math.round(Number(kibibytes) / 1_024),
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
  }
}
