import { errorFileHeader } from '@sluice/csv'
import { sql } from '@sluice/database'
import { errorRoomBytes } from '../batch/error-room.ts'
import type { ImportContext } from '../context.ts'
import { errorFileKey } from '../file/object-keys.ts'
import type { Claim } from '../order/claim.ts'
import { ErrorLines } from './error-lines.ts'

/** The outcome of storing an error file. */
export interface StoredErrorFile {
  /** Key of the file in storage; undefined if the file would have no row and is not stored. */
  key: string | undefined
  /** Number of the first invalid row that the file leaves out; undefined if the file has all. */
  endsBeforeRow: number | undefined
}

/** The value of `endsBeforeRow` if rows were invalid and there is no error file. */
export const allRows = 1

/**
 * Makes the error file from the chunks that were committed with the batches, and stores it.
 *
 * The file ends before the first invalid row that does not fit into `ERROR_FILE_LIMIT` as it was when the import began.
 * If a limit that was raised since applied, rows that were not kept would be missing in the middle.
 *
 * Accepts the columns of the upload. Throws the errors of storage, and an AbortError if the process shuts down.
 */
export async function storeErrorFile(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
): Promise<StoredErrorFile> {
  const header = errorFileHeader(columns)
  const roomBytesNow = errorRoomBytes(context.settings, columns)
  const { byteSize, roomBytes, longestChunkBytes, endsBeforeRow } = await planFile(
    context,
    claim,
    columns,
    roomBytesNow,
  )
  if (byteSize === 0) return { key: undefined, endsBeforeRow }
  const key = errorFileKey(claim.appId, claim.importId, claim.attempt)
  const options = { byteSize: header.length + byteSize, signal: context.shutdown }
  const lines = linesOf(context, claim, columns, roomBytes, longestChunkBytes)
  await context.storage.writeStream(key, startingWith(header, lines), 'text/csv; charset=utf-8', options)
  return { key, endsBeforeRow }
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
async function planFile(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
  roomBytesNow: number,
): Promise<FilePlan> {
  // A single statement. If a process is removing all rows (`disk-full.ts`), the statement waits, and then sees that the
  // import keeps no rows.
  const { rows } = await sql<{ of_all: number; room: number; is_dropped: boolean; longest: number; fitting: number }>`
    select error_bytes as of_all, room, error_file_ends_before_row is not null as is_dropped, longest, fitting
    from imports cross join lateral (select coalesce(error_room, ${roomBytesNow}::bigint) as room) limits cross join lateral (
      select coalesce(max(octet_length(content)), 0) as longest, coalesce(sum(bytes) filter (where starts_at + bytes <= room), 0)::bigint as fitting
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
  const [crossing] = await selectChunks(context, claim).where(sql`starts_at + bytes`, '>', roomBytes).limit(1).execute()
  // The header alone is too large, or a deletion dropped the rows that were kept.
  if (crossing === undefined) return { ...plan, endsBeforeRow: allRows }
  const cut = new ErrorLines(columns).cut(toChunk(crossing).content, roomBytes - crossing.starts_at)
  return { ...plan, byteSize: byteSize + cut.byteSize, endsBeforeRow: cut.endsBeforeRow }
}

async function* startingWith(header: Buffer, lines: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield header
  yield* lines
}

/** Returns the lines of the chunks in file order, as far as whole lines fit into `roomBytes`. */
async function* linesOf(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
  roomBytes: number,
  longestChunkBytes: number,
): AsyncGenerator<Buffer> {
  const lines = new ErrorLines(columns)
  for await (const { content, starts_at: startsAt } of chunksOf(context, claim, longestChunkBytes)) {
    yield* lines.of(content, roomBytes - startsAt)
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
async function* chunksOf(context: ImportContext, claim: Claim, longestChunkBytes: number): AsyncGenerator<Chunk> {
  const perRead = Math.max(1, Math.floor(maxBytesPerRead / Math.max(1, longestChunkBytes)))
  let chunks = await chunksAfter(context, claim, -1, perRead)
  for (let last = chunks.at(-1); last !== undefined; last = chunks.at(-1)) {
    const next = chunksAfter(context, claim, last.position, perRead)
    next.catch(() => {}) // Thrown below, unless the caller has stopped reading.
    yield* chunks
    chunks = await next
  }
}

async function chunksAfter(context: ImportContext, claim: Claim, position: number, most: number): Promise<Chunk[]> {
  const chunks = await selectChunks(context, claim).where('position', '>', position).limit(most).execute()
  return chunks.map(toChunk)
}

function selectChunks({ db }: ImportContext, { appId, importId }: Claim) {
  return (
    db
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
