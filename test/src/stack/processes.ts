import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

interface Process {
  pid: number
  parent: number
}

/** Returns a process and its descendants that are still running. A zombie holds no resources, so it counts as ended. */
export async function processTree(root: number): Promise<number[]> {
  const running = await runningProcesses()
  const tree = running.filter(({ pid }) => pid === root).map(({ pid }) => pid)
  // The loop also visits the children that it appends.
  for (const pid of tree) tree.push(...running.filter(({ parent }) => parent === pid).map((child) => child.pid))
  return tree
}

export async function stillRunning(pids: readonly number[]): Promise<number[]> {
  return (await runningProcesses()).map(({ pid }) => pid).filter((pid) => pids.includes(pid))
}

/** Sends a signal. Does nothing if the process has ended. */
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

/** Reads `/proc/<pid>/stat` of all processes, without the command in brackets, which may contain any character. */
async function linesOfProc(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return stats.map((stat) => stat.replace(/\(.*\)/s, ''))
}

async function linesOfPs(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,stat=,ppid='])
  return stdout.split('\n')
}
