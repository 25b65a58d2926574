import { join } from 'node:path'
import { commandLine, isRunning } from '../process-state.ts'
import { readIfThere } from '../read-if-there.ts'

/** What a running Postgres writes into its data directory as `postmaster.pid`; it stays behind after a crash. */
export interface PostmasterFile {
  pid: number
  /** Whether it takes connections. */
  ready: boolean
  /** The whole file: another run of Postgres never writes the same. */
  content: string
}

/** Reads `postmaster.pid`; gives undefined where there is none, or where Postgres is just writing it. */
export async function readPostmasterFile(dataDirectory: string): Promise<PostmasterFile | undefined> {
  const content = (await readIfThere(join(dataDirectory, 'postmaster.pid'))) ?? ''
  const lines = content.split('\n')
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  return { pid, ready: lines[7]?.trim() === 'ready', content }
}

/** Tells whether `pid` is a running Postgres server on this data directory, and not a process that got its number. */
export async function isPostmasterOf(pid: number, dataDirectory: string): Promise<boolean> {
  if (!(await isRunning(pid))) return false
  const command = await commandLine(pid)
  return command.includes('postgres') && command.includes(`-D ${dataDirectory} `)
}
