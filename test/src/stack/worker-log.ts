import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface LogLine {
  pid: number
  attempt: number
  msg: string
}

/** Returns the log lines of all workers about an import's attempts, sorted by attempt. */
export async function importLog(home: string, importId: string): Promise<LogLine[]> {
  const lines = await linesWith(home, importId)
  return lines
    .flatMap(({ pid, attempt, msg }) => (attempt === undefined ? [] : [{ pid, attempt, msg }]))
    .toSorted((a, b) => a.attempt - b.attempt)
}

/** Returns the log line of an import's last claim, or undefined before the first claim. */
export async function lastClaim(home: string, importId: string): Promise<LogLine | undefined> {
  return (await importLog(home, importId)).findLast(({ msg }) => msg === 'import claimed')
}

export interface DeletedBatch {
  pid: number
  /** Duration of the transaction. */
  ms: number
}

/** Returns the batches of an app's users that all workers of a stack have deleted. */
export async function deletedBatches(home: string, appId: number): Promise<DeletedBatch[]> {
  const lines = await linesWith(home, 'users deleted')
  return lines.flatMap(({ pid, app_id, ms }) => (app_id === appId && ms !== undefined ? [{ pid, ms }] : []))
}

interface Line {
  pid: number
  msg: string
  app_id?: number
  attempt?: number
  ms?: number
}

async function linesWith(home: string, text: string): Promise<Line[]> {
  const folder = join(home, 'logs')
  const files = (await readdir(folder)).filter((name) => name.startsWith('worker-'))
  const logs = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  return logs.flatMap((log) => log.split('\n').filter((line) => line.includes(text))).flatMap((line) => readLine(line))
}

/** Parses a line. Returns nothing for an incomplete last line. */
function readLine(line: string): Line[] {
  try {
    const entry: Partial<Line> = JSON.parse(line)
    const { pid, msg } = entry
    return pid === undefined || msg === undefined ? [] : [{ ...entry, pid, msg }]
  } catch {
    return []
  }
}
