import type { SourceRecord } from './record-reader.ts'

/** A cell with any of these would be read in another way without quotes. U+FEFF at the start would be dropped. */
const needsQuotes = /[",\r\n]|^\uFEFF/

/**
 * Returns a record as a line of CSV that an import reads as the same cells, with its line break.
 *
 * A record with a problem stays one, so that the import reports it: nobody knows which of its cells belong together.
 */
export function writeRecord({ cells, problem }: SourceRecord): string {
  if (problem === 'too long') return `${oneLine(cells.join(','))}\n`
  if (problem === 'unclosed quote') return `${brokenLine(cells)}\n`
  // A line without a character would be skipped as blank.
  return cells.length === 1 && cells[0] === '' ? '""\n' : `${cells.map(quoteIfNeeded).join(',')}\n`
}

function quoteIfNeeded(cell: string): string {
  return needsQuotes.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/**
 * Writes a line whose quoting is broken within the line, whatever follows it: an empty quoted cell is followed by
 * another character than a comma. Otherwise its open quote could reach into the next lines.
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
