import { readFile } from 'node:fs/promises'
import { processTree } from '../../../stack/processes.ts'

/** Clock ticks of /proc a second: 100 on every Linux that Node runs on. */
const ticks = 100

/**
 * Returns the CPU seconds of a process and its descendants, including ended children: for Postgres, of all its backends
 * and helpers. Returns NaN if there is no /proc.
 */
export async function cpuOfTree(root: number): Promise<number> {
  const times = await Promise.all((await processTree(root)).map(async (pid) => (await processTimes(pid)).cpu))
  return times.reduce((sum, time) => sum + time, 0)
}

/** Returns how many seconds a process has been running; NaN if there is no /proc. */
export async function runningFor(pid: number): Promise<number> {
  const { started } = await processTimes(pid)
  const uptime = await readFile('/proc/uptime', 'utf8').catch(() => '')
  return Number.parseFloat(uptime) - started
}

/**
 * Returns the CPU seconds of a process and its ended children, and when the process started, in seconds after the
 * machine's start.
 */
async function processTimes(pid: number): Promise<{ cpu: number; started: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The CPU time of a process that ended since the list was read now counts with its parent.
  if (stat === undefined) return { cpu: process.platform === 'linux' ? 0 : Number.NaN, started: Number.NaN }
  // The command in brackets may contain anything. The fields of proc(5) from the third on follow it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3]) / ticks
  return { cpu: field(14) + field(15) + field(16) + field(17), started: field(22) }
}
