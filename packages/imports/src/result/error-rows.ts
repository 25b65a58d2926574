import { cellsOf, readRows } from '@sluice/csv'
import type { Database } from '@sluice/database'
import { ObjectGone, type Storage } from '@sluice/storage'
import type { ImportId } from '../context.ts'
import { firstBytes } from '../file/source.ts'
import { ErrorLines } from './error-lines.ts'

/** Bytes of an error file that are read at most: the messages of one row may take 64 KiB, and a row may lack 50,000 values. */
const mostBytes = 2 ** 20

/** Values of a row that are returned at most: a row may have a million, and no page shows more than these. */
const mostValues = 100

/** The first rows of an error file. */
export interface ErrorRows {
  /** The row's messages, and its values as text: what is not UTF-8 in them shows as `\uFFFD`. */
  rows: { messages: string; values: string[] }[]
}

/**
 * Reads the first rows of an import's error file: from the chunks that were committed while it runs, and from storage when
 * it has ended. Nothing of them is kept anywhere else, so that they go with the file.
 *
 * Returns at most `limit` rows out of the first MiB, and at most 100 values of each; none where there is no error file, or none any more.
 */
export async function errorRows(
  { db, storage }: { db: Database; storage: Storage },
  id: ImportId,
  limit: number,
): Promise<ErrorRows> {
  const ofImport = { app_id: id.appId, import_id: id.importId }
  const found = await db
    .selectFrom('imports')
    .select(['columns', 'error_file_key', 'files_removed_at'])
    .where((where) => where.and(ofImport))
    .executeTakeFirst()
  if (found === undefined || found.files_removed_at !== null) return { rows: [] }
  const { error_file_key: key, columns } = found
  // The file has a header, the chunks have none.
  if (key === null) return { rows: await firstRows(linesOfChunks(db, id, columns ?? []), limit) }
  return { rows: (await firstRows(storedLines(storage, key), limit + 1)).slice(1) }
}

/** The lines of the first chunks, as far as they were saved by now. */
async function* linesOfChunks(
  db: Database,
  { appId, importId }: ImportId,
  columns: readonly string[],
): AsyncGenerator<Buffer> {
  const chunks = await db
    .selectFrom('import_error_chunks')
    .select(({ fn, val }) => [
      'bytes',
      fn<Buffer>('substring', ['content', val(1), val(mostBytesOfChunk)]).as('content'),
    ])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .orderBy('position')
    .orderBy('part')
    .limit(20)
    .execute()
  const lines = new ErrorLines(columns)
  for (const { content, bytes } of chunks) {
    if (bytes === null) yield content
    else yield* lines.of(content)
    // What follows in this chunk comes before the next one.
    if (content.length === mostBytesOfChunk) return
  }
}

/** Bytes of a chunk that are read: its rows are at most about as long there as in the file. */
const mostBytesOfChunk = 64 * 2 ** 10

async function* storedLines(storage: Storage, key: string): AsyncGenerator<Buffer> {
  try {
    yield* await storage.read(key)
  } catch (error) {
    if (!(error instanceof ObjectGone)) throw error
  }
}

async function firstRows(lines: AsyncIterable<Buffer>, limit: number): Promise<ErrorRows['rows']> {
  const rows: ErrorRows['rows'] = []
  for await (const block of readRows(firstBytes(lines, mostBytes), { columns: 1 + mostValues })) {
    for (const [row, end] of block.rowEnd.entries()) {
      // A row that reaches the end of what is read may be cut off there.
      if (rows.length === limit || end >= mostBytes) return rows
      const [messages = '', ...values] = cellsOf(block, row)
        .slice(0, 1 + mostValues)
        .map((cell) => cell.toString('utf8'))
      rows.push({ messages, values })
    }
  }
  return rows
}
