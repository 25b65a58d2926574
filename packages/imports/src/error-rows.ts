import { cellsOf, readRows } from '@sluice/csv'
import type { Database } from '@sluice/database'
import { ObjectGone, type Storage } from '@sluice/storage'
import type { ImportId } from './context.ts'

/** Bytes of an error file that are looked at, at most. */
const mostBytes = 64 * 2 ** 10

/** The first rows of an error file. */
export interface ErrorRows {
  /** The row's messages, and its values as text: what is not UTF-8 in them shows as `\uFFFD`. */
  rows: { messages: string; values: string[] }[]
}

/**
 * Reads the first rows of an import's error file: from the chunks that were committed while it runs, and from storage when
 * it has ended. Nothing of them is kept anywhere else, so that they go with the file.
 *
 * Gives at most `limit` rows out of the first 64 KiB; none where there is no error file, or none any more.
 */
export async function errorRows(
  { db, storage }: { db: Database; storage: Storage },
  id: ImportId,
  limit: number,
): Promise<ErrorRows> {
  const ofImport = { app_id: id.appId, import_id: id.importId }
  const found = await db
    .selectFrom('imports')
    .select(['error_file_key', 'files_removed_at'])
    .where((where) => where.and(ofImport))
    .executeTakeFirst()
  if (found === undefined || found.files_removed_at !== null) return { rows: [] }
  const { error_file_key: key } = found
  const start = key === null ? await firstChunks(db, id) : await startOfFile(storage, key)
  // The file has a header, the chunks have none.
  return { rows: (await firstRows(start, limit + (key === null ? 0 : 1))).slice(key === null ? 0 : 1) }
}

async function firstChunks(db: Database, { appId, importId }: ImportId): Promise<Buffer> {
  const chunks = await db
    .selectFrom('import_error_chunks')
    .select(({ fn, val }) => fn<Buffer>('substring', ['content', val(1), val(mostBytes)]).as('content'))
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .orderBy('position')
    .orderBy('part')
    .limit(20)
    .execute()
  return Buffer.concat(chunks.map(({ content }) => content)).subarray(0, mostBytes)
}

async function startOfFile(storage: Storage, key: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of await storage.read(key)) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= mostBytes) break
    }
  } catch (error) {
    if (!(error instanceof ObjectGone)) throw error
  }
  return Buffer.concat(chunks).subarray(0, mostBytes)
}

async function firstRows(start: Buffer, limit: number): Promise<ErrorRows['rows']> {
  const rows: ErrorRows['rows'] = []
  const source = (async function* () {
    yield start
  })()
  for await (const block of readRows(source)) {
    for (let row = 0; row < block.count && rows.length < limit; row++) {
      const isCutOff = start.length === mostBytes && block.rowEnd[row] === start.length
      const [messages = '', ...values] = cellsOf(block, row).map((cell) => cell.toString('utf8'))
      if (!isCutOff) rows.push({ messages, values })
    }
    if (rows.length >= limit) break
  }
  return rows
}
