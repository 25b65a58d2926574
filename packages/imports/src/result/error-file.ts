import { errorFileHeader } from '@sluice/csv'
import { sql } from '@sluice/database'
import type { ImportContext } from '../context.ts'
import { errorFileKey } from '../file/object-keys.ts'
import type { Claim } from '../order/claim.ts'
import { ErrorLines } from './error-lines.ts'

/** What became of an error file. */
export interface StoredErrorFile {
  /** Its key in storage; undefined if no row is in it. */
  key: string | undefined
  /** The first invalid row that it leaves out; undefined if it leaves out none. */
  endsBeforeRow: number | undefined
}

/** The first row that is left out if there is no error file although rows were invalid. */
export const allRows = 1

/**
 * Makes the error file from the chunks that were committed with the batches, and stores it. It ends before the first invalid row
 * with which it would be larger than `ERROR_FILE_LIMIT` was when the import began: with a raised one, rows that were not kept would
 * go unnoticed.
 *
 * Accepts the columns of the upload. Throws what storage throws, and an AbortError when the process shuts down.
 */
export async function storeErrorFile(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
): Promise<StoredErrorFile> {
  const header = errorFileHeader(columns)
  const roomNow = context.settings.ERROR_FILE_LIMIT - header.length
  const { byteSize, room, longest, endsBeforeRow } = await planFile(context, claim, columns, roomNow)
  if (byteSize === 0) return { key: undefined, endsBeforeRow }
  const key = errorFileKey(claim.appId, claim.importId, claim.attempt)
  const options = { byteSize: header.length + byteSize, signal: context.shutdown }
  const lines = linesOf(context, claim, columns, room, longest)
  await context.storage.writeStream(key, startingWith(header, lines), 'text/csv; charset=utf-8', options)
  return { key, endsBeforeRow }
}

/** What the lines of an error file will be. */
interface FilePlan extends Pick<StoredErrorFile, 'endsBeforeRow'> {
  /** Bytes of all lines. */
  byteSize: number
  /** Bytes that they may take. */
  room: number
  /** Bytes of the longest chunk, as it is kept. */
  longest: number
}

/** Finds out where the file ends: within the chunk that crosses the end of the room, if there are more rows than fit. */
async function planFile(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
  roomNow: number,
): Promise<FilePlan> {
  // One statement, which waits for whoever removes all rows (`disk-full.ts`) and then sees what was noted with the import.
  // Finished lines, which earlier releases kept, are not limited.
  const { rows } = await sql<{ of_all: number; room: number; is_dropped: boolean; longest: number; fitting: number }>`
    select error_bytes as of_all, room, error_file_ends_before_row is not null as is_dropped, longest, fitting
    from imports cross join lateral (select coalesce(error_room, ${roomNow}::bigint) as room) limits cross join lateral (
      select coalesce(max(octet_length(content)), 0) as longest, coalesce(sum(coalesce(bytes, octet_length(content)))
        filter (where coalesce(starts_at + bytes, 0) <= room), 0)::bigint as fitting
      from import_error_chunks c where c.app_id = imports.app_id and c.import_id = imports.import_id
    ) chunks
    where app_id = ${claim.appId} and import_id = ${claim.importId}
  `.execute(context.db)
  const [found] = rows
  if (found === undefined || found.is_dropped) return { byteSize: 0, room: 0, longest: 0, endsBeforeRow: allRows }
  const { of_all: ofAll, room, longest, fitting: byteSize } = found
  if (ofAll <= room) return { byteSize, room, longest, endsBeforeRow: undefined }
  const [crossing] = await selectChunks(context, claim).where(sql`starts_at + bytes`, '>', room).limit(1).execute()
  // The header alone is too large, or a deletion dropped the rows that were kept.
  if (crossing === undefined) return { byteSize, room, longest, endsBeforeRow: allRows }
  const cut = new ErrorLines(columns).cut(toChunk(crossing).content, room - (crossing.starts_at ?? 0))
  return { byteSize: byteSize + cut.byteSize, room, longest, endsBeforeRow: cut.endsBeforeRow }
}

async function* startingWith(header: Buffer, lines: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield header
  yield* lines
}

/** The lines of the chunks in file order, as far as whole lines fit into the room. Accepts the bytes of the longest chunk. */
async function* linesOf(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
  room: number,
  longest: number,
): AsyncGenerator<Buffer> {
  const lines = new ErrorLines(columns)
  for await (const { content, starts_at: startsAt } of chunksOf(context, claim, longest)) {
    if (startsAt === null) yield content
    else yield* lines.of(content, room - startsAt)
  }
}

/** A part of the error file, with its place. */
interface Chunk {
  position: number
  part: number
  content: Buffer
  starts_at: number | null
}

/** Chunks of so many bytes, or one chunk, are read at once: most chunks are about a hundred KB, none much over 2 MiB. */
const bytesAtOnce = 4 * 2 ** 20

/** The chunks in file order. The next few are read while some are sent; more are not in memory. */
async function* chunksOf(context: ImportContext, claim: Claim, longest: number): AsyncGenerator<Chunk> {
  const atOnce = Math.max(1, Math.floor(bytesAtOnce / Math.max(1, longest)))
  let chunks = await chunksAfter(context, claim, { position: -1, part: 0 }, atOnce)
  for (let last = chunks.at(-1); last !== undefined; last = chunks.at(-1)) {
    const next = chunksAfter(context, claim, last, atOnce)
    next.catch(() => {}) // it is awaited when its turn comes, or nobody wants it any more
    yield* chunks
    chunks = await next
  }
}

async function chunksAfter(
  context: ImportContext,
  claim: Claim,
  { position, part }: Pick<Chunk, 'position' | 'part'>,
  most: number,
): Promise<Chunk[]> {
  const chunks = await selectChunks(context, claim)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'part'), '>', tuple(position, part)))
    .limit(most)
    .execute()
  return chunks.map(toChunk)
}

function selectChunks({ db }: ImportContext, { appId, importId }: Claim) {
  return (
    db
      .selectFrom('import_error_chunks')
      // As such, bytes come in hex, which is half as long again and takes eight times as long to decode.
      .select(['position', 'part', 'starts_at', sql<string>`encode(content, 'base64')`.as('content')])
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .orderBy('position')
      .orderBy('part')
  )
}

function toChunk({ content, ...place }: Omit<Chunk, 'content'> & { content: string }): Chunk {
  return { ...place, content: Buffer.from(content, 'base64') }
}
