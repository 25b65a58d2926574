import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemErrorCode } from '@sluice/s3-endpoint'

/**
 * The layout of the directory of a disk backend:
 *
 *     buckets/<bucket>/objects/<encoded key>.object
 *     buckets/<bucket>/uploads/<upload ID>/{upload.json, part-00001 …}
 *     temporary/<random>         files that are being written; moved into place when they are complete
 */
export class Directories {
  readonly buckets: string
  readonly #temporary: string

  constructor(root: string) {
    this.buckets = join(root, 'buckets')
    this.#temporary = join(root, 'temporary')
  }

  /** Creates the directories, and removes the incomplete files of an earlier process. */
  async prepare(): Promise<void> {
    await rm(this.#temporary, { recursive: true, force: true })
    await mkdir(this.buckets, { recursive: true, mode: 0o700 })
    await mkdir(this.#temporary, { recursive: true, mode: 0o700 })
  }

  objects(bucket: string): string {
    return join(this.buckets, bucket, 'objects')
  }

  uploads(bucket: string): string {
    return join(this.buckets, bucket, 'uploads')
  }

  /** Calls `work` with the path of a new temporary file or directory. Removes it afterwards if it is still there. */
  async withTemporary<Result>(work: (path: string) => Promise<Result>): Promise<Result> {
    const path = join(this.#temporary, randomUUID())
    try {
      return await work(path)
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  }
}

/** Flushes a directory's entries to the disk, so that a rename or removal in it survives a loss of power. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Lists the names in a directory. Returns undefined if there is no such directory. */
export async function namesIn(path: string): Promise<string[] | undefined> {
  try {
    return await readdir(path)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
