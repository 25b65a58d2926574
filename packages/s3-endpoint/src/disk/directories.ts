import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemErrorCode } from '../errors.ts'

/**
 * Where things are below the root:
 *
 *     buckets/<bucket>/objects/<encoded key>.object
 *     buckets/<bucket>/uploads/<upload ID>/{upload.json, part-00001 …}
 *     temporary/<random>         what is being written; moved into place when it is whole
 */
export class Directories {
  readonly buckets: string
  readonly #temporary: string

  constructor(root: string) {
    this.buckets = join(root, 'buckets')
    this.#temporary = join(root, 'temporary')
  }

  /** Makes the directories, and removes what an earlier process left half-written. */
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

  /** Runs work that gets the path of something new to write; whatever is still there afterwards is removed. */
  async withTemporary<Result>(work: (path: string) => Promise<Result>): Promise<Result> {
    const path = join(this.#temporary, randomUUID())
    try {
      return await work(path)
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  }
}

/** Brings a directory's entries to the disk, so that a rename or removal in it outlasts a loss of power. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Gives the names in a directory, or undefined where there is none. */
export async function namesIn(path: string): Promise<string[] | undefined> {
  try {
    return await readdir(path)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
