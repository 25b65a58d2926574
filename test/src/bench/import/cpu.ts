import { readFile } from 'node:fs/promises'
import { processTree } from '../../stack/processes.ts'

/** Clock ticks of /proc a second: 100 on every Linux that Node runs on. */
const ticks = 100

/**
 * CPU seconds of a process and all that descend from it, with those of children that have ended and were waited for:
 * for Postgres, of all its backends and helpers. NaN where there is no /proc.
 */
export async function cpuOfTree(root: number): Promise<number> {
  const times = await Promise.all((await processTree(root)).map(async (pid) => (await processTimes(pid)).cpu))
  return times.reduce((sum, time) => sum + time, 0)
}

/** Seconds that a process has been running for; NaN where there is no /proc. */
export async function runningFor(pid: number): Promise<number> {
  const { started } = await processTimes(pid)
  const uptime = await readFile('/proc/uptime', 'utf8').catch(() => '')
  return Number.parseFloat(uptime) - started
}

/** CPU seconds of a process with those of its ended children, and its start in seconds after the machine's. */
async function processTimes(pid: number): Promise<{ cpu: number; started: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // A process that ended between the look at the tree and this one counts with its parent from now on.
  if (stat === undefined) return { cpu: process.platform === 'linux' ? 0 : Number.NaN, started: Number.NaN }
  // The command in brackets may hold anything; after it, the fields of proc(5) go on with the third.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3]) / ticks
  return { cpu: field(14) + field(15) + field(16) + field(17), started: field(22) }
}
