import { errorFileHeader } from '@sluice/csv'
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
  const chunks = readChunks(context, claim)
  const first = await chunks.next()
  if (first.done) return undefined
  const key = errorFileKey(claim.appId, claim.importId, claim.attempt)
  const content = joined(columns, first.value, chunks)
  await context.storage.writeStream(key, content, 'text/csv; charset=utf-8', { signal: context.shutdown })
  return key
}

async function* joined(columns: readonly string[], first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield errorFileHeader(columns)
  yield first
  yield* rest
}

/** The chunks in file order, one at a time in memory. */
async function* readChunks({ db }: ImportContext, { appId, importId }: Claim): AsyncGenerator<Buffer, void> {
  let last = { position: -1, part: 0 }
  for (;;) {
    const { position, part } = last
    const chunk = await db
      .selectFrom('import_error_chunks')
      .select(['position', 'part', 'content'])
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'part'), '>', tuple(position, part)))
      .orderBy('position')
      .orderBy('part')
      .limit(1)
      .executeTakeFirst()
    if (chunk === undefined) return
    yield chunk.content
    last = chunk
  }
}
