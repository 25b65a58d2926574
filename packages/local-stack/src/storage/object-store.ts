import { access, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  compareKeys,
  type ListedObject,
  type ListPage,
  type ListRequest,
  listPage,
  type ObjectInfo,
  type ObjectName,
  requireBucket,
} from '@sluice/s3-endpoint'
import { type Directories, namesIn, syncDirectory } from './directories.ts'
import { fileNameOf, keyOf } from './key-paths.ts'
import { infoOf, type ObjectRecord, openObjectFile, readObjectFile, writeObjectFile } from './object-file.ts'

/** The number of files that are read concurrently for a page of a listing. */
const parallelReads = 16

/** The objects of all buckets as files. Only this class writes objects. */
export class ObjectStore {
  readonly #directories: Directories

  constructor(directories: Directories) {
    this.#directories = directories
  }

  async hasBucket(bucket: string): Promise<boolean> {
    return access(this.#directories.objects(bucket)).then(
      () => true,
      () => false,
    )
  }

  open({ bucket, key }: ObjectName): ReturnType<typeof openObjectFile> {
    return openObjectFile(this.#pathOf(bucket, key))
  }

  read({ bucket, key }: ObjectName): ReturnType<typeof readObjectFile> {
    return readObjectFile(this.#pathOf(bucket, key))
  }

  /** Writes an object to a temporary file, and moves it into place. `makeRecord` is called after the last chunk. */
  async write(
    name: ObjectName,
    chunks: AsyncIterable<Uint8Array>,
    makeRecord: () => ObjectRecord,
  ): Promise<ObjectInfo> {
    await requireBucket(this, name.bucket)
    return this.#directories.withTemporary(async (temporary) => {
      const written = await writeObjectFile(temporary, chunks, makeRecord)
      const path = this.#pathOf(name.bucket, name.key)
      await rename(temporary, path)
      await syncDirectory(dirname(path))
      return infoOf(written)
    })
  }

  async delete(name: ObjectName): Promise<void> {
    await requireBucket(this, name.bucket)
    const path = this.#pathOf(name.bucket, name.key)
    await rm(path, { force: true })
    await syncDirectory(dirname(path))
  }

  async list(bucket: string, request: ListRequest): Promise<ListPage> {
    await requireBucket(this, bucket)
    const keys = await this.#keysOf(bucket, request.prefix)
    const { entries, next } = listPage(keys.sort(compareKeys), request)
    const names = entries.filter(({ kind }) => kind === 'object').map(({ name }) => name)
    const listed = await inBatches(names, (key) => this.#listed({ bucket, key }))
    return {
      // An object may have been deleted since the directory was read.
      objects: listed.filter((object) => object !== undefined),
      commonPrefixes: entries.filter(({ kind }) => kind === 'prefix').map(({ name }) => name),
      next,
    }
  }

  async #listed(name: ObjectName): Promise<ListedObject | undefined> {
    const file = await this.read(name)
    return file === undefined ? undefined : infoOf(file)
  }

  /** Returns the keys with a prefix, in no order. */
  async #keysOf(bucket: string, prefix: string): Promise<string[]> {
    const directory = this.#directories.objects(bucket)
    const keys: string[] = []
    const longNames: string[] = []
    for (const name of (await namesIn(directory)) ?? []) {
      const found = keyOf(name)
      if (found === 'in-file') longNames.push(name)
      else if (found?.key.startsWith(prefix)) keys.push(found.key)
    }
    const files = await inBatches(longNames, (name) => readObjectFile(join(directory, name)))
    for (const file of files) if (file?.record.key.startsWith(prefix)) keys.push(file.record.key)
    return keys
  }

  #pathOf(bucket: string, key: string): string {
    return join(this.#directories.objects(bucket), fileNameOf(key))
  }
}

async function inBatches<Item, Result>(items: Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += parallelReads) {
    results.push(...(await Promise.all(items.slice(start, start + parallelReads).map(work))))
  }
  return results
}
