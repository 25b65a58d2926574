import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

interface Process {
  pid: number
  parent: number
}

/** The process and everything that descends from it, as far as it runs. A zombie holds nothing: it counts as ended. */
export async function processTree(root: number): Promise<number[]> {
  const running = await runningProcesses()
  const tree = running.filter(({ pid }) => pid === root).map(({ pid }) => pid)
  // The list grows while it is walked.
  for (const pid of tree) tree.push(...running.filter(({ parent }) => parent === pid).map((child) => child.pid))
  return tree
}

/** Those of the given processes that still run. */
export async function stillRunning(pids: readonly number[]): Promise<number[]> {
  return (await runningProcesses()).map(({ pid }) => pid).filter((pid) => pids.includes(pid))
}

/** Sends a signal; a process that has ended meanwhile is none to complain about. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

async function runningProcesses(): Promise<Process[]> {
  const lines = process.platform === 'linux' ? await linesOfProc() : await linesOfPs()
  return lines.flatMap((line) => {
    const [, pid, state = '', parent] = /^\s*(\d+)\s+(\S+)\s+(\d+)/.exec(line) ?? []
    return pid === undefined || /^[ZX]/.test(state) ? [] : [{ pid: Number(pid), parent: Number(parent) }]
  })
}

/** `/proc/<pid>/stat` without the command in brackets, which may hold anything. */
async function linesOfProc(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return stats.map((stat) => stat.replace(/\(.*\)/s, ''))
}

async function linesOfPs(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,stat=,ppid='])
  return stdout.split('\n')
}
