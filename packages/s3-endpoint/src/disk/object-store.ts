import { access, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type {
  DeleteCondition,
  ListedObject,
  ListPage,
  ListRequest,
  ObjectInfo,
  ObjectName,
  WriteCondition,
} from '../backend.ts'
import { S3Error } from '../errors.ts'
import { isNamed, meetsDeleteCondition } from '../protocol/conditions.ts'
import { compareKeys } from '../protocol/key-order.ts'
import { type Directories, namesIn, syncDirectory } from './directories.ts'
import { fileNameOf, keyOf } from './key-paths.ts'
import { listPage } from './listing.ts'
import { NamedLocks } from './locks.ts'
import { infoOf, type ObjectRecord, openObjectFile, readObjectFile, writeObjectFile } from './object-file.ts'

/** The number of files that are read concurrently for a page of a listing. */
const parallelReads = 16

/** The objects of all buckets as files. Only this class writes objects and checks the conditions of writes. */
export class ObjectStore {
  readonly #directories: Directories
  readonly #locks = new NamedLocks()

  constructor(directories: Directories) {
    this.#directories = directories
  }

  /** Throws NoSuchBucket if there is no such bucket. */
  async requireBucket(bucket: string): Promise<void> {
    if (!(await this.hasBucket(bucket))) throw noSuchBucket(bucket)
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

  /**
   * Writes an object to a temporary file, checks the condition, and moves the file into place.
   *
   * Check and move are locked: no other change of the object happens in between.
   */
  async write(
    name: ObjectName,
    chunks: AsyncIterable<Uint8Array>,
    options: { makeRecord: () => ObjectRecord; condition: WriteCondition | undefined },
  ): Promise<ObjectInfo> {
    await this.requireBucket(name.bucket)
    // An early check, which refuses a write that cannot succeed before its bytes are read.
    await this.#checkCondition(name, options.condition)
    return this.#directories.withTemporary(async (temporary) => {
      const written = await writeObjectFile(temporary, chunks, options.makeRecord)
      const path = this.#pathOf(name.bucket, name.key)
      await this.#locks.run(path, async () => {
        await this.#checkCondition(name, options.condition)
        await rename(temporary, path)
      })
      await syncDirectory(dirname(path))
      return infoOf(written)
    })
  }

  /** Deletes an object. No other change of the object happens between the check of the condition and the deletion. */
  async delete(name: ObjectName, condition: DeleteCondition | undefined): Promise<void> {
    await this.requireBucket(name.bucket)
    const path = this.#pathOf(name.bucket, name.key)
    await this.#locks.run(path, async () => {
      const current = condition === undefined ? undefined : await this.read(name)
      if (condition !== undefined && current !== undefined && !meetsDeleteCondition(infoOf(current), condition)) {
        throw preconditionFailed()
      }
      await rm(path, { force: true })
    })
    await syncDirectory(dirname(path))
  }

  async list(bucket: string, request: ListRequest): Promise<ListPage> {
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
    const names = await namesIn(directory)
    if (names === undefined) throw noSuchBucket(bucket)
    const keys: string[] = []
    const longNames: string[] = []
    for (const name of names) {
      const found = keyOf(name)
      if (found === 'in-file') longNames.push(name)
      else if (found?.key.startsWith(prefix)) keys.push(found.key)
    }
    const files = await inBatches(longNames, (name) => readObjectFile(join(directory, name)))
    for (const file of files) if (file?.record.key.startsWith(prefix)) keys.push(file.record.key)
    return keys
  }

  async #checkCondition(name: ObjectName, condition: WriteCondition | undefined): Promise<void> {
    if (condition === undefined) return
    const current = await this.read(name)
    if ('ifAbsent' in condition) {
      if (current !== undefined) throw preconditionFailed()
      return
    }
    if (current === undefined) {
      throw new S3Error('NoSuchKey', 'The specified key does not exist.', { fields: { Key: name.key } })
    }
    if (!isNamed(current.record.etag, condition.ifMatch)) throw preconditionFailed()
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

function noSuchBucket(bucket: string): S3Error {
  return new S3Error('NoSuchBucket', 'The specified bucket does not exist', { fields: { BucketName: bucket } })
}

function preconditionFailed(): S3Error {
  return new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold')
}
