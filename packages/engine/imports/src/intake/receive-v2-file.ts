import type { FileOptions } from '@sluice/batches'
import type { ValueType } from '@sluice/contract'
import { FileError } from '@sluice/csv'
import type { Database } from '@sluice/database'
import { KeyLimitExceeded } from '@sluice/profiles'
import { inImportTrace } from '@sluice/traces'
import type { ReceiveContext, StoredFile } from '../context.ts'
import { ImportFile } from '../file/source.ts'
import { type FileBody, receiveFile } from './receive-file.ts'

/** An import that a v2 request has begun. */
export interface ReceivedImport {
  importId: string
  /**
   * Type of each column that goes into profiles: the registered type, or the type inferred from the first rows. A
   * column without a value in these rows counts as string here. The first batch that has a value settles its type.
   */
  types: Map<string, ValueType>
}

/**
 * Receives the file of a bulk import v2, which is the body of its request (design.md §3, v2 types in the answer). The
 * file is inspected before the import is queued. Runs `alsoCommit` in the transaction that queues it.
 *
 * Returns the import, or the documented message if the file is refused. A refused file leaves nothing behind. Throws
 * `TooManyWaiting` before the body is read, and what reading the body throws.
 */
export async function receiveV2File(
  context: ReceiveContext,
  appId: number,
  file: FileBody & { requestedBy?: string },
  alsoCommit?: (tx: Database, received: ReceivedImport) => Promise<void> | undefined,
): Promise<ReceivedImport | { refused: string }> {
  const id = { appId, importId: crypto.randomUUID() }
  const longestMs = context.settings.API_UPLOAD_TIMEOUT
  const { contentType, requestedBy } = file
  const expected = { source: 'v2', contentType, longestMs, ...(requestedBy && { requestedBy }) } as const
  const check = async (stored: StoredFile, options: FileOptions): Promise<ReceivedImport> => {
    const { profiles } = (await new ImportFile(context, stored).open(options)).columns
    return { importId: id.importId, types: new Map(profiles.map(({ key, type }) => [key, type ?? 'string'])) }
  }
  const steps = { open: async () => file, check, ...(alsoCommit && { alsoCommit }) }
  return await inImportTrace('import received', id.importId, async () => {
    try {
      const received = await receiveFile(context, id, expected, steps)
      return received?.checked ?? { refused: 'the import was cancelled' }
    } catch (error) {
      if (error instanceof FileError || error instanceof KeyLimitExceeded) return { refused: error.message }
      throw error
    }
  })
}
