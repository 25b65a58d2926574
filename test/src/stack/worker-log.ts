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
  const folder = join(home, 'logs')
  const files = (await readdir(folder)).filter((name) => name.startsWith('worker-'))
  const logs = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  return logs
    .flatMap((log) => log.split('\n').filter((line) => line.includes(importId)))
    .flatMap((line) => readLine(line))
    .toSorted((a, b) => a.attempt - b.attempt)
}

/** The last claim of an import: the process that has it, and the attempt. Undefined before the first claim. */
export async function lastClaim(home: string, importId: string): Promise<LogLine | undefined> {
  return (await importLog(home, importId)).findLast(({ msg }) => msg === 'import claimed')
}

/** The last line of a log may not be written to its end yet. */
function readLine(line: string): LogLine[] {
  try {
    const entry: Partial<LogLine> = JSON.parse(line)
    const { pid, attempt, msg } = entry
    return pid === undefined || attempt === undefined || msg === undefined ? [] : [{ pid, attempt, msg }]
  } catch {
    return []
  }
}
