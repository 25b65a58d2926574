import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { oneAfterAnother } from '@sluice/joined-calls'
import {
  type ChecksumPlan,
  checkDeclaredObject,
  checkPart,
  compareKeys,
  type DeclaredObject,
  type MultipartBackend,
  type NamedPart,
  type ObjectMetadata,
  type ObjectName,
  type PartInfo,
  type PendingUpload,
  requireBucket,
  S3Error,
  systemErrorCode,
  type UploadsRequest,
} from '@sluice/s3-endpoint'
import { choose, etagOf, readFiles } from './assembly.ts'
import { type Directories, namesIn, syncDirectory } from './directories.ts'
import { type ObjectFile, readObjectFile, wholeSecond, writeObjectFile } from './object-file.ts'
import type { ObjectStore } from './object-store.ts'

const manifestName = 'upload.json'
const uploadIdPattern = /^[0-9a-f]{32}$/
/** A part is stored like an object. These fields have no meaning for a part. */
const noMetadata: ObjectMetadata = { contentType: '', user: {} }

/** The description of an upload, a file in its directory. `startedAt` is in milliseconds since 1970. */
interface Manifest {
  key: string
  startedAt: number
  metadata: ObjectMetadata
  plan?: ChecksumPlan
}

/** Creates the multipart backend. An upload is a directory of parts, so it survives a restart. */
export function createDiskMultipart(directories: Directories, store: ObjectStore): MultipartBackend {
  const uploads = new UploadDirectories(directories)
  return {
    maxParts: 10_000,
    create: async (name, metadata, plan) => {
      await requireBucket(store, name.bucket)
      return uploads.create(name, { metadata, ...(plan && { plan }) })
    },
    putPart: async (name, uploadId, partNumber, upload) => {
      const { plan } = await uploads.require(name, uploadId)
      checkPart(upload, plan)
      return uploads.writePart(name, uploadId, partNumber, (path) => {
        return writeObjectFile(path, upload.chunks, () => {
          return { key: name.key, etag: upload.digests().md5, modifiedAt: wholeSecond(), metadata: noMetadata }
        })
      })
    },
    listParts: async (name, uploadId, { after, limit }) => {
      const { plan } = await uploads.require(name, uploadId)
      const parts = (await uploads.parts(name, uploadId)).filter(({ partNumber }) => partNumber > after)
      return { parts: parts.slice(0, limit), isTruncated: parts.length > limit, plan }
    },
    complete: async (name, uploadId, readParts, declared) => {
      const parts = (await uploads.find(name, uploadId)) && (await readParts())
      return uploads.exclusively(uploadId, () => complete(uploads, store, { name, uploadId, parts, declared }))
    },
    abort: (name, uploadId) => {
      return uploads.exclusively(uploadId, async () => {
        await uploads.require(name, uploadId)
        await uploads.remove(name, uploadId)
      })
    },
    listUploads: async (bucket, { prefix, after, limit }) => {
      await requireBucket(store, bucket)
      const found = (await uploads.list(bucket)).filter((upload) => {
        return upload.key.startsWith(prefix) && isAfter(upload, after)
      })
      return found.slice(0, limit)
    },
  }
}

/** The completion of an upload. `parts` is undefined if the upload was not pending when the request arrived. */
interface Completion {
  name: ObjectName
  uploadId: string
  parts: NamedPart[] | undefined
  declared: DeclaredObject
}

/** Makes an object of the parts. Returns its ETag. */
async function complete(
  uploads: UploadDirectories,
  store: ObjectStore,
  { name, uploadId, parts, declared }: Completion,
): Promise<string> {
  const manifest = await uploads.find(name, uploadId)
  if (manifest === undefined || parts === undefined) {
    // The client may have lost the answer to an earlier request. The object then exists, and was made by this upload.
    const made = await store.read(name)
    if (made?.record.uploadId === uploadId) return made.record.etag
    throw noSuchUpload()
  }
  const { metadata, plan } = manifest
  const chosen = choose(parts, await uploads.parts(name, uploadId))
  const size = chosen.reduce((sum, part) => sum + part.size, 0)
  await checkDeclaredObject(plan, declared, parts, size)
  const paths = chosen.map(({ partNumber }) => uploads.pathOfPart(name, uploadId, partNumber))
  const { etag } = await store.write(name, readFiles(paths), () => {
    return { key: name.key, etag: etagOf(chosen), modifiedAt: wholeSecond(), metadata, uploadId }
  })
  await uploads.remove(name, uploadId)
  return etag
}

/**
 * The directories of the pending uploads. Upload IDs are untrusted: only IDs in this backend's form are used in a path.
 */
class UploadDirectories {
  readonly #directories: Directories
  readonly #inTurn = oneAfterAnother<string>(Number.POSITIVE_INFINITY)

  constructor(directories: Directories) {
    this.#directories = directories
  }

  /** Runs `work` while no other change of the same upload can run. */
  exclusively<Result>(uploadId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#inTurn(uploadId, work)
  }

  async create({ bucket, key }: ObjectName, about: Pick<Manifest, 'metadata' | 'plan'>): Promise<string> {
    const uploadId = randomBytes(16).toString('hex')
    const manifest: Manifest = { key, startedAt: wholeSecond(), ...about }
    await this.#directories.withTemporary(async (temporary) => {
      await mkdir(temporary, { mode: 0o700 })
      const file = await open(join(temporary, manifestName), 'wx', 0o600)
      try {
        await file.writeFile(JSON.stringify(manifest))
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, this.#pathOf(bucket, uploadId))
      await syncDirectory(this.#directories.uploads(bucket))
    })
    return uploadId
  }

  /** Returns the manifest of a pending upload, or undefined if no such upload of that key is pending. */
  async find({ bucket, key }: ObjectName, uploadId: string): Promise<Manifest | undefined> {
    if (!uploadIdPattern.test(uploadId)) return undefined
    try {
      const manifest: Manifest = JSON.parse(await readFile(join(this.#pathOf(bucket, uploadId), manifestName), 'utf8'))
      return manifest.key === key ? manifest : undefined
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return undefined
      throw error
    }
  }

  /** Returns the manifest of a pending upload. Throws NoSuchUpload if no such upload of that key is pending. */
  async require(name: ObjectName, uploadId: string): Promise<Manifest> {
    const manifest = await this.find(name, uploadId)
    if (manifest === undefined) throw noSuchUpload()
    return manifest
  }

  /** Stores the file that `write` makes as a part of a pending upload. Returns the part's ETag. */
  async writePart(
    name: ObjectName,
    uploadId: string,
    partNumber: number,
    write: (path: string) => Promise<ObjectFile>,
  ): Promise<string> {
    return this.#directories.withTemporary(async (temporary) => {
      const { record } = await write(temporary)
      await this.exclusively(uploadId, async () => {
        // The upload may have been completed or aborted while the part was in flight.
        await this.require(name, uploadId)
        await rename(temporary, this.pathOfPart(name, uploadId, partNumber))
      })
      await syncDirectory(this.#pathOf(name.bucket, uploadId)).catch(ignoreMissing)
      return record.etag
    })
  }

  /**
   * Lists the parts of an upload whose ID was found to be a pending upload's. Throws NoSuchUpload if the upload was
   * completed or aborted since: parts vanish only together with their upload.
   */
  async parts(name: ObjectName, uploadId: string): Promise<PartInfo[]> {
    const names = await namesIn(this.#pathOf(name.bucket, uploadId))
    if (names === undefined) throw noSuchUpload()
    // A directory that is emptied while its names are read lacks some of them. It has been moved by then.
    await this.require(name, uploadId)
    const parts: PartInfo[] = []
    for (const fileName of names.sort()) {
      const partNumber = Number(/^part-(\d{5})$/.exec(fileName)?.[1])
      if (Number.isNaN(partNumber)) continue
      const file = await readObjectFile(this.pathOfPart(name, uploadId, partNumber))
      if (file === undefined) throw noSuchUpload()
      const { etag, modifiedAt } = file.record
      parts.push({ partNumber, size: file.size, etag, modifiedAt: new Date(modifiedAt) })
    }
    return parts
  }

  pathOfPart({ bucket }: ObjectName, uploadId: string, partNumber: number): string {
    return join(this.#pathOf(bucket, uploadId), `part-${String(partNumber).padStart(5, '0')}`)
  }

  /** Removes an upload in one step, so that an interrupted removal cannot leave an upload without some of its parts. */
  async remove({ bucket }: ObjectName, uploadId: string): Promise<void> {
    await this.#directories.withTemporary((temporary) => rename(this.#pathOf(bucket, uploadId), temporary))
  }

  async list(bucket: string): Promise<PendingUpload[]> {
    const uploads: PendingUpload[] = []
    for (const uploadId of (await namesIn(this.#directories.uploads(bucket))) ?? []) {
      const path = join(this.#pathOf(bucket, uploadId), manifestName)
      const text = await readFile(path, 'utf8').catch(ignoreMissing)
      if (text === undefined) continue
      const { key, startedAt, plan }: Manifest = JSON.parse(text)
      uploads.push({ key, uploadId, startedAt: new Date(startedAt), plan })
    }
    return uploads.sort((left, right) => compareKeys(left.key, right.key) || compareKeys(left.uploadId, right.uploadId))
  }

  #pathOf(bucket: string, uploadId: string): string {
    return join(this.#directories.uploads(bucket), uploadId)
  }
}

function isAfter(upload: PendingUpload, after: UploadsRequest['after']): boolean {
  const order = compareKeys(upload.key, after.key)
  return order > 0 || (order === 0 && after.uploadId !== '' && upload.uploadId > after.uploadId)
}

function ignoreMissing(error: unknown): undefined {
  if (systemErrorCode(error) !== 'ENOENT') throw error
}

function noSuchUpload(): S3Error {
  return new S3Error('NoSuchUpload', 'The specified upload does not exist, or was completed or aborted.')
}
