import { errorFileHeader } from '@sluice/csv'
import { sql } from '@sluice/database'
import type { Claim } from './claim.ts'
import type { ImportContext } from './context.ts'
import { ErrorLines } from './error-lines.ts'
import { errorFileKey } from './object-keys.ts'

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
 * with which it would be larger than `ERROR_FILE_LIMIT`.
 *
 * Accepts the columns of the upload. Throws what storage throws, and an AbortError when the process shuts down.
 */
export async function storeErrorFile(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
): Promise<StoredErrorFile> {
  const header = errorFileHeader(columns)
  const room = context.settings.ERROR_FILE_LIMIT - header.length
  if (await hasNoRows(context, claim, room)) return { key: undefined, endsBeforeRow: allRows }
  const { byteSize, longest, endsBeforeRow } = await planFile(context, claim, columns, room)
  if (byteSize === 0) return { key: undefined, endsBeforeRow }
  const key = errorFileKey(claim.appId, claim.importId, claim.attempt)
  const options = { byteSize: header.length + byteSize, signal: context.shutdown }
  const lines = linesOf(context, claim, columns, room, longest)
  await context.storage.writeStream(key, startingWith(header, lines), 'text/csv; charset=utf-8', options)
  return { key, endsBeforeRow }
}

/** Whether there are invalid rows and none of them was kept: they were dropped (`disk-full.ts`), or the header alone is too large. */
async function hasNoRows({ db }: ImportContext, { appId, importId }: Claim, room: number): Promise<boolean> {
  const row = await db
    .selectFrom('imports')
    .select(['error_bytes', 'error_file_ends_before_row'])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
  return row.error_file_ends_before_row !== null || (room < 0 && row.error_bytes > 0)
}

/** What the lines of an error file will be. */
interface FilePlan extends Pick<StoredErrorFile, 'endsBeforeRow'> {
  /** Bytes of all lines. */
  byteSize: number
  /** Bytes of the longest chunk, as it is kept. */
  longest: number
}

/** Finds out where the file ends: within the first chunk that does not fit into the room, if there is one. */
async function planFile(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
  room: number,
): Promise<FilePlan> {
  // Finished lines, which earlier releases kept, are not limited.
  const { rows } = await sql<{ longest: number; byte_size: number; limited: number; whole: number }>`
    select coalesce(max(length), 0) as longest,
      coalesce(sum(coalesce(bytes, length)) filter (where end_at <= ${room}::bigint), 0)::bigint as byte_size,
      coalesce(sum(bytes) filter (where end_at <= ${room}::bigint), 0)::bigint as limited,
      count(*) filter (where end_at <= ${room}::bigint) as whole
    from (
      select bytes, octet_length(content) as length, coalesce(sum(bytes) over (order by position, part), 0) as end_at
      from import_error_chunks
      where app_id = ${claim.appId} and import_id = ${claim.importId}
    ) chunks
  `.execute(context.db)
  const [{ longest, byte_size: byteSize, limited, whole } = { longest: 0, byte_size: 0, limited: 0, whole: 0 }] = rows
  const [crossing] = await selectChunks(context, claim).offset(whole).limit(1).execute()
  if (crossing === undefined) return { byteSize, longest, endsBeforeRow: undefined }
  const cut = new ErrorLines(columns).cut(toChunk(crossing).content, room - limited)
  return { byteSize: byteSize + cut.byteSize, longest, endsBeforeRow: cut.endsBeforeRow }
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
  let left = room
  for await (const { content, bytes } of chunksOf(context, claim, longest)) {
    if (bytes === null) yield content
    else yield* lines.of(content, left)
    left -= bytes ?? 0
    if (left < 0) return
  }
}

/** A part of the error file, with its place. */
interface Chunk {
  position: number
  part: number
  content: Buffer
  bytes: number | null
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
      .select(['position', 'part', 'bytes', sql<string>`encode(content, 'base64')`.as('content')])
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .orderBy('position')
      .orderBy('part')
  )
}

function toChunk({ content, ...place }: Omit<Chunk, 'content'> & { content: string }): Chunk {
  return { ...place, content: Buffer.from(content, 'base64') }
}
