import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { rowMessages, valueMessages } from '@sluice/contract/import-messages'
import { cellsOf, decompress, readRows } from '@sluice/csv'

/** Counts the data rows of a CSV file as an import does. Throws if the file is damaged, or if `signal` aborts. */
export async function countRows(file: string, signal: AbortSignal): Promise<number> {
  const bytes = createReadStream(file, { signal })
  const isGzip = /\.(gz|gzip)$/i.test(file)
  // The header is a row here as well.
  let rows = -1
  for await (const block of readRows(decompress(bytes, { gzip: isGzip, limitBytes: Number.POSITIVE_INFINITY })))
    rows += block.count
  return rows
}

/** Number of rows of an error file that are read at least: enough for the commonest messages. */
export const errorRowsLimit = 100_000
/** A person waits, so the download has a limit. */
const downloadTimeoutMs = 10_000

/** Separates the messages of a row. A comma within the name of a column follows no message. */
const separator = new RegExp(`(?<=${Object.values({ ...rowMessages, ...valueMessages }).join('|')}), `)

/** Returns the messages of a cell, without the mark against formulas and without the number of those left out. */
function messagesOf(cell: string): string[] {
  return cell
    .replace(/^'(?=[=+\-@\t\r\n])/, '')
    .replace(/, and \d+ more$/, '')
    .split(separator)
}

/**
 * Counts the messages of an error file (service.md, Error CSV file). Returns the commonest first, each with its number
 * of rows, among the first {@link errorRowsLimit} rows. Throws if the file cannot be downloaded.
 */
export async function countErrors(url: string): Promise<[message: string, rows: number][]> {
  const { ok, status, body } = await fetch(url, { signal: AbortSignal.timeout(downloadTimeoutMs) })
  if (!ok || body === null) throw new Error(`the error file is not available: ${status}`)
  const counts = new Map<string, number>()
  const decoder = new TextDecoder()
  let read = 0
  for await (const block of readRows(Readable.fromWeb(body as ReadableStream), { columns: 1 })) {
    // The first row of the file is its header.
    for (let row = read === 0 ? 1 : 0; row < block.count; row++) {
      for (const message of messagesOf(decoder.decode(cellsOf(block, row)[0])))
        counts.set(message, (counts.get(message) ?? 0) + 1)
    }
    read += block.count
    if (read > errorRowsLimit) break
  }
  return [...counts].sort(([, a], [, b]) => b - a)
}
