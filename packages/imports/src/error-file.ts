import { errorFileHeader } from '@sluice/csv'
import { sql } from '@sluice/database'
import type { Claim } from './claim.ts'
import type { ImportContext } from './context.ts'
import { errorFileKey } from './object-keys.ts'

/**
 * Joins the chunks that were committed with the batches into the error file, in storage.
 *
 * Takes the columns of the upload. Gives the file's key, undefined where no row was invalid. Throws what storage
 * throws, and an AbortError when the process shuts down.
 */
export async function storeErrorFile(
  context: ImportContext,
  claim: Claim,
  columns: readonly string[],
): Promise<string | undefined> {
  const { length, longest } = await lengthOfChunks(context, claim)
  if (length === 0) return undefined
  const key = errorFileKey(claim.appId, claim.importId, claim.attempt)
  const header = errorFileHeader(columns)
  const options = { byteSize: header.length + length, signal: context.shutdown }
  await context.storage.writeStream(key, joined(header, context, claim, longest), 'text/csv; charset=utf-8', options)
  return key
}

/** Bytes of all chunks, and of the longest; 0 where there are none. */
async function lengthOfChunks({ db }: ImportContext, { appId, importId }: Claim) {
  return await db
    .selectFrom('import_error_chunks')
    .select([
      sql<number>`coalesce(sum(octet_length(content)), 0)::bigint`.as('length'),
      sql<number>`coalesce(max(octet_length(content)), 0)`.as('longest'),
    ])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
}

/** A part of the error file, with its place. */
interface Chunk {
  position: number
  part: number
  content: Buffer
}

/** Bytes of chunks of one look at most, or one chunk: mostly each has about a hundred KB, at most about 1 MiB and a row. */
const bytesAtOnce = 4 * 2 ** 20

/**
 * The header and the chunks in file order. The next few are read while some are sent; more are not in memory. Takes the bytes
 * of the longest one.
 */
async function* joined(header: Buffer, context: ImportContext, claim: Claim, longest: number): AsyncGenerator<Buffer> {
  yield header
  const atOnce = Math.max(1, Math.floor(bytesAtOnce / longest))
  let chunks = await chunksBehind(context, claim, { position: -1, part: 0 }, atOnce)
  for (let last = chunks.at(-1); last !== undefined; last = chunks.at(-1)) {
    const next = chunksBehind(context, claim, last, atOnce)
    next.catch(() => {}) // it is awaited when its turn comes, or nobody wants it any more
    for (const { content } of chunks) yield content
    chunks = await next
  }
}

async function chunksBehind(
  { db }: ImportContext,
  { appId, importId }: Claim,
  { position, part }: Pick<Chunk, 'position' | 'part'>,
  most: number,
): Promise<Chunk[]> {
  const chunks = await db
    .selectFrom('import_error_chunks')
    // As such, bytes come in hex, which is half as long again and takes eight times as long to decode.
    .select(['position', 'part', sql<string>`encode(content, 'base64')`.as('content')])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'part'), '>', tuple(position, part)))
    .orderBy('position')
    .orderBy('part')
    .limit(most)
    .execute()
  return chunks.map((chunk) => ({ ...chunk, content: Buffer.from(chunk.content, 'base64') }))
}
