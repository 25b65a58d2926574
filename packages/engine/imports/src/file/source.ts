import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type Columns, type FileOptions, type FileProgress, openColumns } from '@sluice/batches'
import { decompress } from '@sluice/csv'
import { ObjectGone, ObjectReplaced } from '@sluice/storage'
import type { FileContext, StoredFile } from '../context.ts'

/** Reads the stored file of an import. */
export class ImportFile {
  readonly #context: FileContext
  readonly #file: StoredFile
  /** ETag of the object that was last found to be the file. */
  #etag: string | null

  constructor(context: FileContext, file: StoredFile) {
    this.#context = context
    this.#file = file
    this.#etag = file.etag
  }

  /** Returns the columns, and the offset of the first row that is not committed. Throws as `openColumns`. */
  async open(options: FileOptions, committed?: FileProgress): Promise<{ columns: Columns; position: number }> {
    const { db, settings } = this.#context
    const { INFERENCE_ROWS: inferenceRows, PROFILE_KEY_LIMIT: keyLimit } = settings
    const from = (position: number) => this.from(position)
    return await openColumns({ db, appId: this.#file.appId, options, from, inferenceRows, keyLimit }, committed)
  }

  /**
   * Streams the file, uncompressed, from a byte offset of the uncompressed file on. A compressed file is read from its
   * beginning, and the bytes before the offset are dropped.
   *
   * Throws `FileError` if the file is damaged or too large, `ObjectGone`, `ObjectReplaced`, what storage throws, and an
   * AbortError when the process shuts down.
   */
  async *from(position: number): AsyncGenerator<Buffer> {
    const gzip = this.#file.contentType === 'application/gzip'
    const from = gzip ? 0 : position
    const stored = await this.#open(from)
    try {
      const limit = this.#context.settings.UNCOMPRESSED_LIMIT - from
      let skip = position - from
      for await (const chunk of decompress(stored, { gzip, limitBytes: limit })) {
        if (skip >= chunk.length) skip -= chunk.length
        else {
          yield chunk.subarray(skip)
          skip = 0
        }
      }
    } finally {
      stored.destroy()
    }
  }

  /**
   * Opens the stored object at an offset. Throws `ObjectReplaced` if the object is not the file whose upload was
   * noticed.
   */
  async #open(from: number): Promise<Readable> {
    try {
      return await this.#read(this.#etag, from)
    } catch (error) {
      if (!(error instanceof ObjectReplaced)) throw error
      this.#etag = await this.#etagOfSameFile(error)
      return await this.#readCompared(this.#etag, from)
    }
  }

  /**
   * Compares an object that has another ETag with the file whose upload was noticed. A client that repeats its PUT may
   * change the ETag although the bytes are the same, for example if storage encrypts with SSE-KMS. The MD5 of the file
   * tells whether the bytes are the same. The new ETag is then stored, so that the object is compared only once.
   *
   * Returns the new ETag. Throws `replaced` if the object has other bytes, or if the MD5 is unknown. Throws
   * `ObjectGone`.
   */
  async #etagOfSameFile(replaced: ObjectReplaced): Promise<string> {
    const { appId, importId, objectKey, checksum } = this.#file
    if (checksum === null) throw replaced
    const stat = await this.#context.storage.stat(objectKey)
    if (stat === undefined) throw new ObjectGone(objectKey)
    const md5 = createHash('md5')
    for await (const chunk of await this.#readCompared(stat.etag)) md5.update(chunk)
    if (md5.digest('base64') !== checksum) throw replaced
    await this.#context.db
      .updateTable('imports')
      .set({ etag: stat.etag })
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .execute()
    return stat.etag
  }

  /**
   * Reads the object with the new ETag. If the object is replaced once more meanwhile, throws an error after which the
   * next try compares it again.
   */
  async #readCompared(etag: string, from?: number): Promise<Readable> {
    try {
      return await this.#read(etag, from)
    } catch (error) {
      if (!(error instanceof ObjectReplaced)) throw error
      throw new Error(`${this.#file.objectKey} was replaced while it was compared`, { cause: error })
    }
  }

  #read(etag: string | null, from?: number): Promise<Readable> {
    const { storage, shutdown } = this.#context
    return storage.read(this.#file.objectKey, {
      ...(from !== undefined && { from }),
      ...(etag !== null && { etag }),
      ...(shutdown !== undefined && { signal: shutdown }),
    })
  }
}
