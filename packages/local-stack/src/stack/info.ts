import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRunning } from '../process-state.ts'
import { readIfExists } from '../whole-file.ts'
import { isLocked } from './lock.ts'

/** The content of `stack.json`, which describes a running stack (design.md §2, stack.json). Addresses are URLs. */
export interface StackInfo {
  /** Empty if the stack has no app named `api`. */
  api: string
  dashboard?: string
  /** The address for S3 clients of customers. */
  s3_gateway?: string
  storage: string
  /** Absent if mails go to a mail server outside the stack. */
  inbox?: string
  /** Contains the password, and must therefore stay on this machine. */
  database: string
  /**
   * Settings of the stack that commands must follow, too, with its encryption keys. Absent if the environment sets none
   * of these settings.
   */
  settings?: Record<string, string>
  /** The process that starts and stops the other processes. */
  pid: number
  /** The IDs of the ready processes of each app. */
  processes: Record<string, number[]>
  /** The addresses of their metrics, in the same order. */
  metrics: Record<string, string[]>
}

/** Returns the stack that runs on the folder `home`; undefined if none runs, or if it is not ready yet. */
export async function readStackInfo(home: string): Promise<StackInfo | undefined> {
  const text = await readIfExists(fileIn(home))
  if (text === undefined || !isLocked(home)) return undefined
  const info: StackInfo = JSON.parse(text)
  // A stack that has just begun may not have removed the file of a killed one yet.
  return (await isRunning(info.pid)) ? info : undefined
}

/** The file `stack.json` of a stack. */
export interface InfoFile {
  /** Replaces the file. Writes are serialized. */
  write(info: StackInfo): Promise<void>
  /** Removes the file. Later writes have no effect. */
  remove(): Promise<void>
}

/** Opens `stack.json` in the folder `home`, and removes a file that an earlier stack left. */
export async function openInfoFile(home: string): Promise<InfoFile> {
  const path = fileIn(home)
  await rm(path, { force: true })
  let last = Promise.resolve()
  let removed = false
  return {
    write(info) {
      // A failed write (full disk) must not prevent the next write.
      last = last
        .catch(() => {})
        .then(async () => {
          if (removed) return
          await writeFile(`${path}.part`, `${JSON.stringify(info, null, 2)}\n`, { mode: 0o600 })
          await rename(`${path}.part`, path)
        })
      return last
    },
    async remove() {
      removed = true
      await last.catch(() => {})
      await rm(path, { force: true })
    },
  }
}

function fileIn(home: string): string {
  return join(home, 'stack.json')
}
