import type { ValueType } from '@sluice/contract'
import { FileError } from '@sluice/csv'
import type { ImportContentType } from '@sluice/database'
import { KeyLimitExceeded } from '@sluice/profiles'
import { inImportTrace } from '@sluice/traces'
import type { ImportId, ReceiveContext } from '../context.ts'
import { inspectFile } from '../file/inspect.ts'
import { discardReception, queueReception, reserveReception } from './reception.ts'

/** An import whose file came with its request. */
export interface ReceivedImport {
  importId: string
  /**
   * The type of each column that goes into profiles: the registered one, or the one inferred from the first rows. A
   * column without any value there counts as string here; its type is settled by the first batch that has one.
   */
  types: Map<string, ValueType>
}

/** A file as it comes. */
export interface ReceivedFile {
  contentType: ImportContentType
  /** Undefined where the request does not say it. */
  byteSize: number | undefined
  content: AsyncIterable<Buffer>
}

/**
 * Takes a file in the body of a request (bulk import v2): the import has its place in the app's line when this begins,
 * and is queued when the file lies in storage and was found to be good. A file that is not leaves nothing behind.
 *
 * Its bytes are streamed to storage as they come. Gives the import, or the documented message of why the
 * file is refused. What reading the body throws passes through. Throws `TooManyWaiting` before the body is read.
 */
export async function receiveImport(
  context: ReceiveContext,
  appId: number,
  file: ReceivedFile,
): Promise<ReceivedImport | { refused: string }> {
  const id = { appId, importId: crypto.randomUUID() }
  return await inImportTrace('import received', id.importId, () => receive(context, id, file))
}

async function receive(
  context: ReceiveContext,
  id: ImportId,
  { contentType, byteSize, content }: ReceivedFile,
): Promise<ReceivedImport | { refused: string }> {
  const expected = { source: 'v2', contentType, longest: context.settings.API_UPLOAD_TIMEOUT } as const
  const objectKey = await reserveReception(context, id, expected)
  try {
    await context.storage.writeStream(objectKey, content, contentType, { byteSize })
    const stored = await context.storage.stat(objectKey)
    if (stored === undefined) throw new Error(`${objectKey} was stored and is gone`)
    const file = { ...id, objectKey, contentType, etag: stored.etag, checksum: null }
    const { columns } = await inspectFile(context, file)
    if (!(await queueReception(context.db, id, stored))) return { refused: 'the import was cancelled' }
    return { importId: id.importId, types: new Map(columns.profiles.map(({ key, type }) => [key, type ?? 'string'])) }
  } catch (error) {
    await discardReception(context, id)
    if (error instanceof FileError || error instanceof KeyLimitExceeded) return { refused: error.message }
    throw error
  }
}
