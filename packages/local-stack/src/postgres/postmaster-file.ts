import { join } from 'node:path'
import { commandLine, isRunning } from '../process-state.ts'
import { readIfExists } from '../whole-file.ts'

/**
 * The file `postmaster.pid`, which a running Postgres writes into its data directory. The file remains after a crash.
 */
export interface PostmasterFile {
  pid: number
  /** Whether the server accepts connections. A standby accepts connections that only read. */
  ready: boolean
  /** The content of the file, which is different for each run of Postgres. */
  content: string
}

/** Reads `postmaster.pid`. Returns undefined if the file does not exist or is incomplete. */
export async function readPostmasterFile(dataDirectory: string): Promise<PostmasterFile | undefined> {
  const content = (await readIfExists(join(dataDirectory, 'postmaster.pid'))) ?? ''
  const lines = content.split('\n')
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  return { pid, ready: ['ready', 'standby'].includes(lines[7]?.trim() ?? ''), content }
}

/**
 * Checks whether `pid` is a running Postgres server on this data directory, and not another process that reuses its ID.
 */
export async function isPostmasterOf(pid: number, dataDirectory: string): Promise<boolean> {
  if (!(await isRunning(pid))) return false
  const command = await commandLine(pid)
  return command.includes('postgres') && command.includes(`-D ${dataDirectory} `)
}
