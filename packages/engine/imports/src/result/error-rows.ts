import { cellsAtFault, ErrorLines } from '@sluice/batches'
import { serviceErrorsColumn } from '@sluice/contract'
import { cellsOf, firstBytes, readRows } from '@sluice/csv'
import type { Database } from '@sluice/database'
import { ObjectGone, type Storage } from '@sluice/storage'
import type { ImportId } from '../context.ts'

/**
 * Maximum number of bytes of an error file that are read. A few rows can be large: the messages of one row may take 64
 * KiB, and a row may lack 50,000 values.
 */
const maxBytes = 2 ** 20

/**
 * Maximum number of values of a row that are returned. A row may have a million values, and no page shows more than
 * these.
 */
const maxValues = 100

/** The messages of a row, and its values as text. Bytes that are not UTF-8 become `\uFFFD`. */
interface RowText {
  messages: string
  values: string[]
}

/** The first rows of an error file. */
export interface ErrorRows {
  /** `atFault` has the indexes of the values that the messages are about. */
  rows: (RowText & { atFault: number[] })[]
}

/**
 * Reads the first rows of an import's error file: from the committed chunks while the import runs, and from storage
 * when it has ended. Keeps no copy of them, so that removing the file removes the rows.
 *
 * Returns at most `limit` rows from the first MiB, with at most 100 values each. Returns none if there is no error
 * file, or if it was removed.
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
  const { error_file_key: key } = found
  const columns = found.columns ?? []
  // The file has a header, the chunks have none.
  const rows =
    key === null
      ? await firstRows(linesOfChunks(db, id, columns), limit)
      : (await firstRows(storedLines(storage, key), limit + 1)).slice(1)
  const names = columns.filter((name) => name !== serviceErrorsColumn).slice(0, maxValues)
  return { rows: rows.map((row) => ({ ...row, atFault: cellsAtFault(row.messages, names) })) }
}

/** Returns the lines of the first chunks that are committed. */
async function* linesOfChunks(
  db: Database,
  { appId, importId }: ImportId,
  columns: readonly string[],
): AsyncGenerator<Buffer> {
  const chunks = await db
    .selectFrom('import_chunks')
    .select(({ fn, val }) => fn<Buffer>('substring', ['content', val(1), val(maxChunkBytes)]).as('content'))
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .orderBy('position')
    .limit(20)
    .execute()
  const lines = new ErrorLines(columns)
  for (const { content } of chunks) {
    yield* lines.of(content)
    // The rest of this chunk was not read, so the next chunk does not follow.
    if (content.length === maxChunkBytes) return
  }
}

/** Maximum number of bytes that are read of each chunk. A row is hardly longer in a chunk than in the uploaded file. */
const maxChunkBytes = 64 * 2 ** 10

async function* storedLines(storage: Storage, key: string): AsyncGenerator<Buffer> {
  try {
    yield* await storage.read(key)
  } catch (error) {
    if (!(error instanceof ObjectGone)) throw error
  }
}

async function firstRows(lines: AsyncIterable<Buffer>, limit: number): Promise<RowText[]> {
  const rows: RowText[] = []
  for await (const block of readRows(firstBytes(lines, maxBytes), { columns: 1 + maxValues })) {
    for (const [row, end] of block.rowEnd.entries()) {
      // A row that reaches the limit of bytes may be cut off.
      if (rows.length === limit || end >= maxBytes) return rows
      const [messages = '', ...values] = cellsOf(block, row)
        .slice(0, 1 + maxValues)
        .map((cell) => cell.toString('utf8'))
      rows.push({ messages, values })
    }
  }
  return rows
}
