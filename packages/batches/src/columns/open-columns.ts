import { setImmediate } from 'node:timers/promises'
import type { ValueType } from '@sluice/contract'
import { firstBytes, type RowBlock, readHeader, readRows } from '@sluice/csv'
import type { Database } from '@sluice/database'
import { type KeyRegistry, keyRegistry, registeredKeys, requireRoom } from '@sluice/profiles'
import { checkColumns, checkDeclaredTypes } from './check-columns.ts'
import { Columns, type FileOptions, type KnownColumns } from './columns.ts'
import { SampledColumns } from './sampled-columns.ts'

/**
 * Maximum number of bytes of rows that inference reads, whatever `INFERENCE_ROWS` says. A gzip file of 16 KB can unpack
 * to that size. The work of an inspection is proportional to these bytes, so the limit bounds its CPU time.
 */
const sampleBytes = 16 * 2 ** 20

/** Number of bytes of rows that are read in one round of the event loop. Reading them takes a millisecond or less. */
const roundBytes = 64 * 2 ** 10

/** A file whose columns are opened. */
export interface OpenedFile {
  db: Database
  appId: number
  /** Returns the uncompressed bytes of the file from an offset on. */
  from: (position: number) => AsyncIterable<Buffer>
  options: FileOptions
  /** Number of rows that inference reads. */
  inferenceRows: number
  /** Number of keys that an app without a limit of its own may have. */
  keyLimit: number
}

/**
 * Reads the beginning of a file before its rows are processed: the header, and the types of the columns. Reads a few
 * bytes at a time, because the process may have requests to answer.
 *
 * Returns the columns and the byte offset of the first data row. Throws `FileError` if the header is refused, by its
 * form or by the options. Throws `KeyLimitExceeded` as soon as more columns have values than the app has room for keys.
 */
export async function openColumns(file: OpenedFile): Promise<{ columns: Columns; position: number }> {
  const { options } = file
  const registry = await keyRegistry(file.db, file.appId, file.keyLimit)
  await yieldToEventLoop()
  const { columns: names, end: position } = await readHeader(file.from(0))
  await yieldToEventLoop()
  const columns = new Columns(names, { registered: registry.types, options })
  checkColumns(columns, options)
  await inferTypes(file, columns, position, registry)
  return { columns, position }
}

/** Infers the types of the keys that are not registered, from the first data rows (design.md §3, Inference). */
async function inferTypes(
  file: OpenedFile,
  columns: Columns,
  position: number,
  { types, limit }: KeyRegistry,
): Promise<void> {
  if (columns.untyped.length === 0) return
  const sampled = new SampledColumns(columns)
  for await (const { block, row } of sampleRows(file, columns, position)) {
    sampled.add(block, row)
    if (sampled.typed > 0) requireRoom(types.size + sampled.typed, limit)
  }
  sampled.settle()
}

/** Yields the first data rows, as many as inference may read. */
async function* sampleRows(
  { from, inferenceRows }: OpenedFile,
  { names }: Columns,
  position: number,
): AsyncGenerator<{ block: RowBlock; row: number }> {
  const source = firstBytes(from(position), sampleBytes)
  let count = 0
  let roundEnd = position
  for await (const block of readRows(source, { position, columns: names.length })) {
    for (const [row, end] of block.rowEnd.entries()) {
      if (end >= roundEnd) {
        await yieldToEventLoop()
        roundEnd = end + roundBytes
      }
      // A row that reaches the end of the sample may be cut off.
      if (++count > inferenceRows || end - position >= sampleBytes) return
      yield { block, row }
    }
  }
}

let lastRound: Promise<unknown> = Promise.resolve()

/**
 * Yields to the event loop. Only one waiting caller continues in each round of the loop. So many inspections at the
 * same moment delay a request for no longer than a single inspection.
 */
export function yieldToEventLoop(): Promise<unknown> {
  lastRound = lastRound.then(() => setImmediate())
  return lastRound
}

/** What was recorded of a file's columns with the batches so far. */
export interface RecordedColumns extends Required<Pick<KnownColumns, 'warnings' | 'spellingCounts'>> {
  names: readonly string[]
  types: NonNullable<KnownColumns['settled']>
  /** Keys that the batches of a dry run would have registered. */
  previewedKeys: readonly string[]
}

/**
 * Returns the columns of a file of which batches are committed. Throws `FileError` if a declared key is registered with
 * another type.
 */
export async function reopenColumns(
  db: Database,
  appId: number,
  { names, types, warnings, spellingCounts, previewedKeys }: RecordedColumns,
  options: FileOptions,
): Promise<Columns> {
  const registered = withPreviewed(await registeredKeys(db, appId), previewedKeys, types)
  const columns = new Columns(names, { settled: types, registered, warnings, spellingCounts, options })
  checkDeclaredTypes(columns)
  return columns
}

/**
 * Adds the keys that committed batches of a dry run would have registered to the registered keys.
 *
 * The types that these batches settled take precedence. Had the batches registered the keys, no other request could
 * have registered them with other types.
 */
function withPreviewed(
  registered: ReadonlyMap<string, ValueType>,
  previewedKeys: readonly string[],
  settled: Readonly<Record<string, ValueType>>,
): Map<string, ValueType> {
  const previewedTypes = previewedKeys.flatMap((key) => {
    const type = Object.hasOwn(settled, key) ? settled[key] : undefined
    return type === undefined ? [] : [[key, type] as const]
  })
  return new Map([...registered, ...previewedTypes])
}
