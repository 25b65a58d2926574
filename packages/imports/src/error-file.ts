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

/** The header and the chunks in file order. The next chunk is read while one is sent; more are not in memory. */
async function* joined(header: Buffer, context: ImportContext, claim: Claim): AsyncGenerator<Buffer> {
  yield header
  let chunk = await nextChunk(context, claim, { position: -1, part: 0 })
  while (chunk !== undefined) {
    const next = nextChunk(context, claim, chunk)
    next.catch(() => {}) // it is awaited when its turn comes, or nobody wants it any more
    yield chunk.content
    chunk = await next
  }
}

function nextChunk(
  { db }: ImportContext,
  { appId, importId }: Claim,
  { position, part }: { position: number; part: number },
): Promise<{ position: number; part: number; content: Buffer } | undefined> {
  return db
    .selectFrom('import_error_chunks')
    .select(['position', 'part', 'content'])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'part'), '>', tuple(position, part)))
    .orderBy('position')
    .orderBy('part')
    .limit(1)
    .executeTakeFirst()
}
