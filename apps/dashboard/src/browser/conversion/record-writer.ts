import { limits } from '@sluice/contract/limits'
import type { SourceRecord } from './record-reader.ts'

/**
 * Without quotes, an import would read a cell with one of these characters differently, and drop U+FEFF at the start.
 */
const needsQuotes = /[",\r\n]|^\uFEFF/

/**
 * Returns a record as a line of CSV, with its line break. An import reads the same cells from it.
 *
 * A record with a problem is written so that the import reports the problem too: nobody knows which of its cells belong
 * together.
 */
export function writeRecord({ cells, problem }: SourceRecord): string {
  // Only the beginning is known, which is all that the error file shows.
  if (problem === 'too long') return `${oneLine(cells.join(',')).padEnd(limits.recordBytes + 1)}\n`
  if (problem === 'unclosed quote') return `${brokenLine(cells)}\n`
  // A line without a character would be skipped as blank.
  return cells.length === 1 && cells[0] === '' ? '""\n' : `${cells.map(quoteIfNeeded).join(',')}\n`
}

function quoteIfNeeded(cell: string): string {
  return needsQuotes.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/**
 * Writes a line with broken quoting so that the quoting breaks within the line. An empty quoted cell, followed by a
 * character other than a comma, achieves this. The open quote of the original could reach into the next lines.
 */
function brokenLine(cells: readonly string[]): string {
  const broken = Math.max(
    cells.findIndex((cell) => cell.startsWith('"')),
    0,
  )
  const rest = [(cells[broken] ?? '').replace(/^"/, ''), ...cells.slice(broken + 1)].join(',')
  const space = /^(?:[",\r\n]|$)/.test(rest) ? ' ' : ''
  return oneLine([...cells.slice(0, broken).map(quoteIfNeeded), `""${space}${rest}`].join(','))
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ')
}
