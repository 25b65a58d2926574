import { userIdColumn } from '@sluice/contract/import-messages'
import { type Dialect, RecordReader, type Separator } from './record-reader.ts'

/** The separators that a file may have, with their names. */
export const separatorNames: Readonly<Record<Separator, string>> = {
  ',': 'Comma',
  ';': 'Semicolon',
  '\t': 'Tab',
}

export const separators = Object.keys(separatorNames) as Separator[]

/** The dialect of a file, detected from its beginning. */
export interface DetectedDialect extends Dialect {
  /** The number of characters of a first line such as `sep=;`, which is no record. Some programs write it for Excel. */
  prefixLength: number
}

/** Maximum number of characters and records from which the dialect is detected. */
const sampleLength = 65_536
const sampleRecords = 20

const separatorLine = /^("?)sep=([,;\t])\1(?:\r*\n|\r)/i

/**
 * Detects how a text separates cells and records.
 *
 * A line `sep=;` decides. Otherwise the separator is the one that makes `user_id` a cell of the header. Else it is the
 * one with which most records have as many cells as the header, else the one with which the header has most cells. If
 * all separators result in one column, the comma is used.
 */
export function detectDialect(start: string): DetectedDialect {
  const declared = separatorLine.exec(start)
  const prefixLength = declared?.[0].length ?? 0
  const text = start.slice(prefixLength, prefixLength + sampleLength)
  const lineBreak = detectLineBreak(text)
  const separator = separators.find((separator) => separator === declared?.[2]) ?? detectSeparator(text, lineBreak)
  return { separator, lineBreak, prefixLength }
}

/** CR alone ends the lines if it ends the header, which an import would refuse. Line breaks in quotes do not count. */
function detectLineBreak(text: string): Dialect['lineBreak'] {
  const outside = text.replaceAll(/"[^"]*"/g, '""')
  const [, header = ''] = /^(?:\r*\n)*([^\n]*)/.exec(outside) ?? []
  return /\r[^\r]/.test(header) ? '\r' : '\n'
}

function detectSeparator(text: string, lineBreak: Dialect['lineBreak']): Separator {
  const candidates = separators.map((separator) => ({ separator, ...agreement(text, { separator, lineBreak }) }))
  const [best] = candidates.sort(
    (one, other) =>
      Number(other.hasUserId) - Number(one.hasUserId) || other.share - one.share || other.columns - one.columns,
  )
  return best === undefined || best.columns < 2 ? ',' : best.separator
}

/** Rates how well a separator fits a text. A header of a single column does not count as a fit. */
function agreement(text: string, dialect: Dialect): { hasUserId: boolean; share: number; columns: number } {
  const reader = new RecordReader(dialect)
  const complete = take(reader.push(text), sampleRecords)
  const [header, ...rows] = complete.length > 0 ? complete : take(reader.end(), 1)
  const columns = header === undefined || header.problem !== undefined ? 0 : header.cells.length
  const same = rows.filter(({ cells, problem }) => problem === undefined && cells.length === columns).length
  return {
    hasUserId: columns > 1 && header?.cells.includes(userIdColumn) === true,
    share: columns < 2 ? -1 : rows.length === 0 ? 1 : same / rows.length,
    columns,
  }
}

/** Returns the first items of a generator. */
function take<Item>(items: Generator<Item>, count: number): Item[] {
  const taken: Item[] = []
  for (const item of items) {
    taken.push(item)
    if (taken.length === count) break
  }
  return taken
}
