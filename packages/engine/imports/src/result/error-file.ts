import { isUtf8 } from 'node:buffer'
import { ErrorLines } from '@sluice/batches'
import type { Settings } from '@sluice/config'
import { errorFileHeader } from '@sluice/csv'
import { sql } from '@sluice/database'
import { errorFileKey } from '../file/object-keys.ts'
import type { Run } from '../run/run.ts'

/** The outcome of storing an error file. */
export interface StoredErrorFile {
  /** Key of the file in storage; undefined if the file would have no row and is not stored. */
  key: string | undefined
  /** Number of the first invalid row that the file leaves out; undefined if the file has all. */
  endsBeforeRow: number | undefined
  /** All bytes of the file are UTF-8. */
  isUtf8: boolean
}

/** Size of a page of Postgres, and its greatest overhead (headers, and the page's share of the indexes), bytes. */
const [pageBytes, pageOverheadBytes] = [8_192, 512]

/**
 * Returns the bytes that the rows of an error file may take (design.md §3, Error file's size). Neither the file, nor
 * the disk space for its rows in Postgres, then exceeds `ERROR_FILE_LIMIT`. Accepts the columns of the upload.
 */
export function errorRoomBytes(settings: Settings<'ERROR_FILE_LIMIT'>, columns: readonly string[]): number {
  const limitBytes = settings.ERROR_FILE_LIMIT
  return limitBytes - Math.floor(limitBytes / pageBytes) * pageOverheadBytes - errorFileHeader(columns).length
}

/** The value of `endsBeforeRow` if rows were invalid and there is no error file. */
export const allRows = 1

/** What making the error file needs of an import that ends. */
export type EndedRun = Pick<Run, 'context' | 'claim' | 'progress'>

/**
 * Makes the error file from the chunks that were committed with the batches, and stores it.
 *
 * The file ends before the first invalid row that does not fit into `ERROR_FILE_LIMIT` as it was when the import began.
 * If a limit that was raised since applied, rows that were not kept would be missing in the middle.
 *
 * Throws the errors of storage, and an AbortError if the process shuts down.
 */
export async function storeErrorFile(run: EndedRun): Promise<StoredErrorFile> {
  const { storage, shutdown: signal } = run.context
  const { appId, importId, attempt } = run.claim
  const plan = await planFile(run)
  const { endsBeforeRow } = plan
  if (plan.byteSize === 0) return { key: undefined, endsBeforeRow, isUtf8: false }
  const key = errorFileKey(appId, importId, attempt)
  const header = errorFileHeader(columnsOf(run))
  const byteSize = header.length + plan.byteSize
  let isText = true
  async function* content() {
    for await (const lines of fileOf(run, header, plan)) {
      // A piece has whole lines, and no line ends within a character.
      isText &&= isUtf8(lines)
      yield lines
    }
  }
  await storage.writeStream(key, content(), 'text/csv; charset=utf-8', { byteSize, signal })
  return { key, endsBeforeRow, isUtf8: isText }
}

/** Returns the columns of the upload. */
function columnsOf({ progress }: EndedRun): readonly string[] {
  return progress.columns ?? []
}

/** The size of an error file, before it is made. */
interface FilePlan extends Pick<StoredErrorFile, 'endsBeforeRow'> {
  /** Number of bytes of all lines that fit into the file. */
  byteSize: number
  /** Maximum number of bytes of the lines. */
  roomBytes: number
  /** Bytes of the longest chunk in its short form. */
  longestChunkBytes: number
}

/** Determines where the file ends. If not all rows fit, it ends within the chunk that exceeds the limit. */
async function planFile(run: EndedRun): Promise<FilePlan> {
  const { context, claim } = run
  const columns = columnsOf(run)
  // A single statement. If a process is removing all rows (`disk-full.ts`), the statement waits, and then sees that the
  // import keeps no rows.
  const { rows } = await sql<{ of_all: number; room: number; is_dropped: boolean; longest: number; fitting: number }>`
    select error_bytes as of_all, room, error_file_ends_before_row is not null as is_dropped, longest, fitting
    from imports
    cross join lateral (select coalesce(error_room, ${errorRoomBytes(context.settings, columns)}::bigint) as room) limits
    cross join lateral (
      select coalesce(max(octet_length(content)), 0) as longest,
        coalesce(sum(bytes) filter (where starts_at + bytes <= room), 0)::bigint as fitting
      from import_error_chunks c where c.app_id = imports.app_id and c.import_id = imports.import_id
    ) chunks
    where app_id = ${claim.appId} and import_id = ${claim.importId}
  `.execute(context.db)
  const [found] = rows
  if (found === undefined || found.is_dropped)
    return { byteSize: 0, roomBytes: 0, longestChunkBytes: 0, endsBeforeRow: allRows }
  const { of_all: ofAll, room: roomBytes, longest: longestChunkBytes, fitting: byteSize } = found
  const plan = { byteSize, roomBytes, longestChunkBytes }
  if (ofAll <= roomBytes) return { ...plan, endsBeforeRow: undefined }
  const [crossing] = await selectChunks(run).where(sql`starts_at + bytes`, '>', roomBytes).limit(1).execute()
  // The header alone is too large, or a deletion dropped the rows that were kept.
  if (crossing === undefined) return { ...plan, endsBeforeRow: allRows }
  const cut = new ErrorLines(columns).cut(toChunk(crossing).content, roomBytes - crossing.starts_at)
  return { ...plan, byteSize: byteSize + cut.byteSize, endsBeforeRow: cut.endsBeforeRow }
}

/** Returns the header, and the lines of the chunks in file order, as far as whole lines fit. */
async function* fileOf(run: EndedRun, header: Buffer, plan: FilePlan): AsyncGenerator<Buffer> {
  yield header
  const lines = new ErrorLines(columnsOf(run))
  for await (const { content, starts_at: startsAt } of chunksOf(run, plan.longestChunkBytes)) {
    yield* lines.of(content, plan.roomBytes - startsAt)
  }
}

/** A part of the error file, with its place in the order of chunks. */
interface Chunk {
  position: number
  content: Buffer
  starts_at: number
}

/**
 * Maximum number of bytes of chunks in one read. A longer chunk is read alone. Most chunks have about 100 KB, and none
 * has much over 2 MiB.
 */
const maxBytesPerRead = 4 * 2 ** 20

/** Returns the chunks in file order. Reads the next few chunks while the caller processes the current ones. */
async function* chunksOf(run: EndedRun, longestChunkBytes: number): AsyncGenerator<Chunk> {
  const perRead = Math.max(1, Math.floor(maxBytesPerRead / Math.max(1, longestChunkBytes)))
  let chunks = await chunksAfter(run, -1, perRead)
  for (let last = chunks.at(-1); last !== undefined; last = chunks.at(-1)) {
    const next = chunksAfter(run, last.position, perRead)
    next.catch(() => {}) // Thrown below, unless the caller has stopped reading.
    yield* chunks
    chunks = await next
  }
}

async function chunksAfter(run: EndedRun, position: number, most: number): Promise<Chunk[]> {
  const chunks = await selectChunks(run).where('position', '>', position).limit(most).execute()
  return chunks.map(toChunk)
}

function selectChunks({ context, claim: { appId, importId } }: EndedRun) {
  return (
    context.db
      .selectFrom('import_error_chunks')
      // `bytea` arrives in hex, which is 50 % longer than base64 and takes eight times as long to decode.
      .select(['position', 'starts_at', sql<string>`encode(content, 'base64')`.as('content')])
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .orderBy('position')
  )
}

function toChunk({ content, ...place }: Omit<Chunk, 'content'> & { content: string }): Chunk {
  return { ...place, content: Buffer.from(content, 'base64') }
}
