import type { FileOptions } from '@sluice/batches'
import type { Database, ImportContentType } from '@sluice/database'
import type { ImportId, StoredFile } from '../context.ts'
import {
  discardImport,
  type ExpectedFile,
  queueImport,
  type ReceiveFileContext,
  reserveImport,
} from './received-imports.ts'

/** The body of a request. */
export interface FileBody {
  contentType: ImportContentType
  /** Number of bytes that the request declares; undefined if it declares none. */
  byteSize: number | undefined
  content: AsyncIterable<Buffer>
}

/**
 * Receives a file whose bytes come in the body of a request: reserves a place in the import order, streams the bytes to
 * storage, and queues the import.
 *
 * Accepts two steps in which the routes differ. `open` starts reading the body. `check` reads the stored file before
 * the import is queued, and throws to refuse it.
 *
 * Runs `alsoCommit` in the transaction that queues the import. Returns the result of `check`; undefined if the import
 * was cancelled meanwhile. Throws `TooManyWaiting` before the body is read. Removes the import and its file if any
 * later step fails, and throws the error of that step.
 */
export async function receiveFile<Checked>(
  context: ReceiveFileContext,
  id: ImportId,
  expected: ExpectedFile,
  open: () => Promise<FileBody>,
  check: (file: StoredFile, options: FileOptions) => Promise<Checked>,
  alsoCommit: (tx: Database, checked: Checked) => Promise<void> | undefined = () => undefined,
): Promise<{ checked: Checked } | undefined> {
  const { db, storage } = context
  // The import is inserted before the first byte is read, because `requested_at` must not be later than the file's data
  // (docs/decisions.md, packages/deletions).
  const { objectKey, options } = await reserveImport(context, id, expected)
  try {
    const { contentType, byteSize, content } = await open()
    await storage.writeStream(objectKey, content, contentType, { byteSize })
    const stored = await storage.stat(objectKey)
    if (stored === undefined) throw new Error(`${objectKey} was stored and is gone`)
    const checked = await check({ ...id, objectKey, contentType, etag: stored.etag, checksum: null }, options)
    return await db.transaction().execute(async (tx) => {
      if (!(await queueImport(tx, id, { ...stored, contentType }))) return undefined
      await alsoCommit(tx, checked)
      return { checked }
    })
  } catch (error) {
    await discardImport(context, id)
    throw error
  }
}
