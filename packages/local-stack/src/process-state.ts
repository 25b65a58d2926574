import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** Checks whether a process still runs. A zombie counts as dead: it holds a process ID, but no file, port or memory. */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Any other failure (EPERM) means that the process exists, but belongs to another user.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
  }
  if (process.platform !== 'linux') return true
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The state follows the command in parentheses, which may itself contain parentheses and spaces.
  return stat !== undefined && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}

/** Returns a process's command line, with its arguments joined by spaces; an empty string if it cannot be read. */
export async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return line.replaceAll('\0', ' ').trim()
  }
  const listed = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  return listed.stdout.trim()
}

/** Waits for the end of a child process. Returns how it ended, for people: `exit code 1`, `SIGKILL`. Never rejects. */
export async function waitForExit(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit')
    return signal === null ? `exit code ${code}` : String(signal)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
