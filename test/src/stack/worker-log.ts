import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A line of a worker's log about an import. */
export interface LogLine {
  pid: number
  attempt: number
  msg: string
}

/** What all workers of a stack have logged about an import under its claims, in the order of the claims. */
export async function importLog(home: string, importId: string): Promise<LogLine[]> {
  const lines = await linesWith(home, importId)
  return lines
    .flatMap(({ pid, attempt, msg }) => (attempt === undefined ? [] : [{ pid, attempt, msg }]))
    .toSorted((a, b) => a.attempt - b.attempt)
}

/** The last claim of an import: the process that has it, and the attempt. Undefined before the first claim. */
export async function lastClaim(home: string, importId: string): Promise<LogLine | undefined> {
  return (await importLog(home, importId)).findLast(({ msg }) => msg === 'import claimed')
}

/** A batch of users that a worker has deleted, and how long its transaction took, ms. */
export interface DeletedBatch {
  pid: number
  ms: number
}

/** The batches that all workers of a stack have deleted of an app. */
export async function deletedBatches(home: string, appId: number): Promise<DeletedBatch[]> {
  const lines = await linesWith(home, 'users deleted')
  return lines.flatMap(({ pid, app_id, ms }) => (app_id === appId && ms !== undefined ? [{ pid, ms }] : []))
}

/** What lines of different kinds say. */
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

/** The last line of a log may not be written to its end yet. */
function readLine(line: string): Line[] {
  try {
    const entry: Partial<Line> = JSON.parse(line)
    const { pid, msg } = entry
    return pid === undefined || msg === undefined ? [] : [{ ...entry, pid, msg }]
  } catch {
    return []
  }
}
