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
  const length = await lengthOfChunks(context, claim)
  if (length === 0) return undefined
  const key = errorFileKey(claim.appId, claim.importId, claim.attempt)
  const header = errorFileHeader(columns)
  const options = { byteSize: header.length + length, signal: context.shutdown }
  await context.storage.writeStream(key, joined(header, context, claim), 'text/csv; charset=utf-8', options)
  return key
}

/** Bytes of all chunks; 0 where there are none. */
async function lengthOfChunks({ db }: ImportContext, { appId, importId }: Claim): Promise<number> {
  const { length } = await db
    .selectFrom('import_error_chunks')
    .select(sql<number>`coalesce(sum(octet_length(content)), 0)::bigint`.as('length'))
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
  return length
}

/** A part of the error file, with its place. */
interface Chunk {
  position: number
  part: number
  content: Buffer
}

/** Chunks of one look: mostly they have some hundred KB, at most about 1 MiB and a row. */
const chunksAtOnce = 4

/** The header and the chunks in file order. The next few are read while some are sent; more are not in memory. */
async function* joined(header: Buffer, context: ImportContext, claim: Claim): AsyncGenerator<Buffer> {
  yield header
  let chunks = await chunksBehind(context, claim, { position: -1, part: 0 })
  for (let last = chunks.at(-1); last !== undefined; last = chunks.at(-1)) {
    const next = chunksBehind(context, claim, last)
    next.catch(() => {}) // it is awaited when its turn comes, or nobody wants it any more
    for (const { content } of chunks) yield content
    chunks = await next
  }
}

async function chunksBehind(
  { db }: ImportContext,
  { appId, importId }: Claim,
  { position, part }: Pick<Chunk, 'position' | 'part'>,
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
    .limit(chunksAtOnce)
    .execute()
  return chunks.map((chunk) => ({ ...chunk, content: Buffer.from(chunk.content, 'base64') }))
}
