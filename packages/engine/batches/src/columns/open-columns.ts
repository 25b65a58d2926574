import { setImmediate } from 'node:timers/promises'
import { firstBytes, type RowBlock, readHeader, readRows } from '@sluice/csv'
import type { Database } from '@sluice/database'
import { type KeyRegistry, keyRegistry, registeredKeys, requireRoom } from '@sluice/profiles'
import { checkColumns, checkDeclaredTypes } from './check-columns.ts'
import { Columns, type FileOptions, type FileProgress } from './columns.ts'
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
  options: FileOptions
  /** Returns the uncompressed bytes of the file from an offset on. */
  from: (position: number) => AsyncIterable<Buffer>
  /** Number of rows that inference reads. */
  inferenceRows: number
  /** Number of keys that an app without a limit of its own may have. */
  keyLimit: number
}

/**
 * Returns the columns of a file, and the byte offset of the first row that is not committed
 * (service.md, Bulk import CSV file).
 *
 * If no batch is committed, reads the beginning of the file: the header, and the types of the columns. Reads a few
 * bytes at a time, because the process may have requests to answer.
 *
 * Throws `FileError` if the header is refused, by its form or by the options, or if a declared key is registered with
 * another type. Throws `KeyLimitExceeded` as soon as more columns have values than the app has room for keys.
 */
export async function openColumns(
  file: OpenedFile,
  committed?: FileProgress,
): Promise<{ columns: Columns; position: number }> {
  const { db, appId, options, keyLimit } = file
  if (committed?.columns)
    return { columns: await reopen(file, committed, committed.columns), position: committed.position }
  const registry = await keyRegistry(db, appId, keyLimit)
  await yieldToEventLoop()
  const { columns: names, end: position } = await readHeader(file.from(0))
  await yieldToEventLoop()
  const columns = new Columns(names, { options, registered: registry.keys })
  checkColumns(columns, options)
  await inferTypes(file, columns, position, registry)
  return { columns, position }
}

/** Returns the columns as the last batch left them. */
async function reopen(
  { db, appId, options }: OpenedFile,
  committed: FileProgress,
  names: readonly string[],
): Promise<Columns> {
  // Keys that batches of a dry run would have registered count as registered, with the types that these batches
  // settled. Had the batches registered the keys, no other request could have registered them with other types.
  const keys = new Set(committed.previewedKeys)
  const previewed = Object.entries(committed.types).flatMap(([key, type]) =>
    keys.has(key) ? [[key, { type, enabled: true }] as const] : [],
  )
  const registered = new Map([...(await registeredKeys(db, appId)), ...previewed])
  const columns = new Columns(names, { options, registered, committed })
  checkDeclaredTypes(columns)
  return columns
}

/** Infers the types of the keys that are not registered, from the first data rows (design.md §3, Inference). */
async function inferTypes(
  file: OpenedFile,
  columns: Columns,
  position: number,
  { enabled, limit }: KeyRegistry,
): Promise<void> {
  if (columns.untyped.length === 0) return
  const sampled = new SampledColumns(columns)
  for await (const { block, row } of sampleRows(file, columns, position)) {
    sampled.add(block, row)
    if (sampled.typed > 0) requireRoom(enabled + sampled.typed, limit)
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
