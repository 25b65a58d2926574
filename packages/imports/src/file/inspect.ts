import { type RowBlock, readHeader, readRows } from '@sluice/csv'
import { type KeyRegistry, keyRegistry, requireRoom } from '@sluice/profiles'
import type { FileContext, StoredFile } from '../context.ts'
import type { ImportOptions } from '../options.ts'
import { checkColumns } from './check-columns.ts'
import { Columns } from './columns.ts'
import { yieldToEventLoop } from './event-loop.ts'
import { SampledColumns } from './sampled-columns.ts'
import { firstBytes, openSource } from './source.ts'

/**
 * Maximum number of bytes of rows that inference reads, whatever `INFERENCE_ROWS` says. A gzip file of 16 KB can unpack
 * to that size. The work of an inspection is proportional to these bytes, so the limit bounds its CPU time.
 */
const sampleBytes = 16 * 2 ** 20

/** Number of bytes of rows that are read in one round of the event loop. Reading them takes a millisecond or less. */
const roundBytes = 64 * 2 ** 10

/**
 * Reads the beginning of a file before its rows are processed (service.md, Bulk import CSV file): the header, and the
 * types of the columns. Reads a few bytes at a time, because the process may have requests to answer.
 *
 * Returns the columns and the byte offset of the first data row. Throws `FileError` if the header is refused, by its
 * form or by the options. Throws `KeyLimitExceeded` as soon as more columns have values than the app has room for keys.
 */
export async function inspectFile(
  context: FileContext,
  file: StoredFile,
  options: ImportOptions,
): Promise<{ columns: Columns; position: number }> {
  const registry = await keyRegistry(context.db, file.appId, context.settings.PROFILE_KEY_LIMIT)
  await yieldToEventLoop()
  const header = await readHeader(openSource(context, file, 0))
  await yieldToEventLoop()
  const columns = new Columns(header.columns, { registered: registry.types, options })
  checkColumns(columns, options)
  await inferTypes(context, file, columns, header.end, registry)
  return { columns, position: header.end }
}

/** Infers the types of the keys that are not registered, from the first data rows (design.md §3, Inference). */
async function inferTypes(
  context: FileContext,
  file: StoredFile,
  columns: Columns,
  position: number,
  { types, limit }: KeyRegistry,
): Promise<void> {
  if (columns.untyped.length === 0) return
  const sampled = new SampledColumns(columns)
  for await (const { block, row } of sampleRows(context, file, columns, position)) {
    sampled.add(block, row)
    if (sampled.typed > 0) requireRoom(types.size + sampled.typed, limit)
  }
  sampled.settle()
}

/** Yields the first data rows, as many as inference may read. */
async function* sampleRows(
  context: FileContext,
  file: StoredFile,
  { names }: Columns,
  position: number,
): AsyncGenerator<{ block: RowBlock; row: number }> {
  const source = firstBytes(openSource(context, file, position), sampleBytes)
  let count = 0
  let roundEnd = position
  for await (const block of readRows(source, { position, columns: names.length })) {
    for (const [row, end] of block.rowEnd.entries()) {
      if (end >= roundEnd) {
        await yieldToEventLoop()
        roundEnd = end + roundBytes
      }
      // A row that reaches the end of the sample may be cut off.
      if (++count > context.settings.INFERENCE_ROWS || end - position >= sampleBytes) return
      yield { block, row }
    }
  }
}
