import { cellsOf, readHeader, readRows } from '@sluice/csv'
import { ColumnInference, registeredKeys, requireRoom } from '@sluice/profiles'
import { type Columns, sortColumns } from './columns.ts'
import type { FileContext, StoredFile } from './context.ts'
import { firstBytes, openSource } from './source.ts'

/** Bytes of rows that inference reads at most, whatever `INFERENCE_ROWS` says: it must not hold up a file of wide rows. */
const sampleBytes = 64 * 2 ** 20

/**
 * Looks at the beginning of a file before any of its rows is processed: the header, and the types of the columns.
 *
 * Gives the columns and the byte offset of the first data row. Throws `FileError` for a header that is refused, and
 * `KeyLimitExceeded` where the app has no room for the new keys.
 */
export async function inspectFile(
  context: FileContext,
  file: StoredFile,
): Promise<{ columns: Columns; position: number }> {
  const registered = await registeredKeys(context.db, file.appId)
  const header = await readHeader(openSource(context, file, 0))
  const columns = sortColumns(header.columns, {}, registered)
  await inferTypes(context, file, columns, header.end)
  const added = columns.profiles.filter((column) => !column.registered && column.type !== undefined)
  if (added.length > 0) requireRoom(registered.size + added.length, context.settings.PROFILE_KEY_LIMIT)
  return { columns, position: header.end }
}

/** Infers the types of the keys that are not registered, from the first data rows (design.md §3, Inference). */
async function inferTypes(context: FileContext, file: StoredFile, columns: Columns, position: number): Promise<void> {
  const open = columns.profiles
    .filter((column) => column.type === undefined)
    .map((column) => ({ column, inference: new ColumnInference() }))
  if (open.length === 0) return
  for await (const cells of sampleRows(context, file, position)) {
    for (const { column, inference } of open) {
      const cell = cells[column.index]
      if (cell !== undefined && cell.length > 0) inference.add(cell)
    }
  }
  for (const { column, inference } of open) column.type = inference.type()
}

/** The cells of the first data rows, as many as inference may read. */
async function* sampleRows(context: FileContext, file: StoredFile, position: number): AsyncGenerator<Buffer[]> {
  let count = 0
  for await (const block of readRows(firstBytes(openSource(context, file, position), sampleBytes), { position })) {
    for (const [row, end] of block.rowEnd.entries()) {
      // A row that reaches the end of the sample may be cut off there.
      if (++count > context.settings.INFERENCE_ROWS || end - position >= sampleBytes) return
      if (block.problem === undefined) yield cellsOf(block, row)
    }
  }
}
