import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere } from '../read-if-there.ts'
import { lockHolder } from './lock.ts'

/** A running stack, as `stack.json` in its folder says (design.md §2). Addresses are URLs. */
export interface StackInfo {
  /** Empty in a stack without an app named `api`. */
  api: string
  dashboard?: string
  /** Where clients of S3 put files. */
  s3_gateway?: string
  storage: string
  /** Absent where mails go to a mail server outside the stack. */
  inbox?: string
  /** With the password: keep it to the machine. */
  database: string
  /** The process that holds the stack together. */
  pid: number
  /** The processes of each app that are ready. */
  processes: Record<string, number[]>
}

/** Gives what runs on the folder `home`, or undefined where nothing does, or where it isn't ready yet. */
export async function readStackInfo(home: string): Promise<StackInfo | undefined> {
  const holder = await lockHolder(home)
  if (holder === undefined) return undefined
  const text = await readIfThere(fileIn(home))
  if (text === undefined) return undefined
  const info: StackInfo = JSON.parse(text)
  return info.pid === holder.pid ? info : undefined
}

/** The file `stack.json` of a stack. */
export interface InfoFile {
  /** Replaces the file; writes happen one after the other. */
  write(info: StackInfo): Promise<void>
  /** Removes the file for good. */
  remove(): Promise<void>
}

/** Opens `stack.json` in the folder `home`, and removes one that an earlier stack left. */
export async function openInfoFile(home: string): Promise<InfoFile> {
  const path = fileIn(home)
  await rm(path, { force: true })
  let last = Promise.resolve()
  let removed = false
  return {
    write(info) {
      // A write that failed, on a full disk say, doesn't keep the next one from trying.
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
