import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** Tells whether a process still runs. A zombie counts as dead: it holds a number, but no file, port or memory. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Any other failure (EPERM) means that the process is there, but belongs to somebody else.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
  }
  if (process.platform !== 'linux') return true
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The state follows the command in brackets, which may itself hold brackets and spaces.
  return stat !== undefined && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}

/** Gives a process's command line, its arguments joined by spaces; the empty string where there is none to be seen. */
export async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return line.replaceAll('\0', ' ').trim()
  }
  const listed = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  return listed.stdout.trim()
}

/** Waits for the end of a child process and tells people how it ended: `exit code 1`, `SIGKILL`. Never rejects. */
export async function howItEnds(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit')
    return signal === null ? `exit code ${code}` : String(signal)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
