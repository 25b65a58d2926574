import type { FileOptions } from '@sluice/batches'
import type { Database, ImportContentType } from '@sluice/database'
import type { ImportId, StoredFile } from '../context.ts'
import { discardImport, type ExpectedFile, queueImport, type ReceiveFileContext, reserveImport } from './reservation.ts'

export interface FileBody {
  contentType: ImportContentType
  /** Number of bytes that the request declares; undefined if it declares none. */
  byteSize: number | undefined
  content: AsyncIterable<Buffer>
}

/** The steps in which the routes that receive files differ. */
export interface ReceptionSteps<Checked> {
  /** Starts reading the body. */
  open: () => Promise<FileBody>
  /** Reads the stored file before the import is queued. Throws if the file is refused. */
  check: (file: StoredFile, options: FileOptions) => Promise<Checked>
  /** Runs in the transaction that queues the import. */
  alsoCommit?: (tx: Database, checked: Checked) => Promise<void> | undefined
}

/**
 * Receives a file whose bytes come in the body of a request: reserves a place in the import order, streams the bytes to
 * storage, and queues the import.
 *
 * Returns the result of `check`; undefined if the import was cancelled meanwhile. Throws `TooManyWaiting` before the
 * body is read. Removes the import and its file if any later step fails, and throws the error of that step.
 */
export async function receiveFile<Checked>(
  context: ReceiveFileContext,
  id: ImportId,
  expected: ExpectedFile,
  { open, check, alsoCommit }: ReceptionSteps<Checked>,
): Promise<{ checked: Checked } | undefined> {
  const { db, storage } = context
  // The import is inserted before the first byte is read, because `requested_at` must not be later than the file's data
  // (docs/decisions.md, Deletions).
  const { objectKey, options } = await reserveImport(context, id, expected)
  try {
    const { contentType, byteSize, content } = await open()
    await storage.writeStream(objectKey, content, contentType, { byteSize })
    const stored = await storage.stat(objectKey)
    if (stored === undefined) throw new Error(`${objectKey} was stored and is gone`)
    const checked = await check({ ...id, objectKey, contentType, etag: stored.etag, checksum: null }, options)
    return await db.transaction().execute(async (tx) => {
      if (!(await queueImport(tx, id, { ...stored, contentType }))) return undefined
      await alsoCommit?.(tx, checked)
      return { checked }
    })
  } catch (error) {
    await discardImport(context, id)
    throw error
  }
}
