/** A record as the reference reads it. Texts are Latin-1: each character stands for a byte. */
export interface ReferenceRecord {
  cells: string[]
  /** Offset after the record and its line break. */
  end: number
  isBroken: boolean
}

/** A cell, and the offset at which it begins in the file. */
interface Cell {
  value: string
  start: number
}

/**
 * Reads all records of a text, without the header and without a limit for the length of a record
 * (design.md §3, CSV dialect). Slow and simple: each record is read from its start, character by character.
 *
 * Whatever follows the last of `columns` columns is one cell with the characters of the file.
 */
export function referenceRecords(text: string, columns = Number.POSITIVE_INFINITY): ReferenceRecord[] {
  const records: ReferenceRecord[] = []
  for (let at = 0; at < text.length; ) {
    const record = wellFormedRecord(text, at) ?? brokenRecord(text, at)
    const { cells, contentEnd, end, isBroken } = record
    const rest = cells[columns]
    const values = cells.slice(0, columns).map(({ value }) => value)
    if (rest !== undefined) values.push(text.slice(rest.start, contentEnd))
    if (isBroken || cells.some(({ value }) => value !== '')) records.push({ cells: values, end, isBroken })
    at = end
  }
  return records
}

interface FoundRecord {
  cells: Cell[]
  /** Offset of the line break. */
  contentEnd: number
  end: number
  isBroken: boolean
}

/** Returns the record at an offset; undefined if its quotes are broken. */
function wellFormedRecord(text: string, from: number): FoundRecord | undefined {
  const cells: Cell[] = []
  for (let at = from; ; at++) {
    const cell = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at)
    if (cell === undefined) return undefined
    cells.push({ value: cell.value, start: at })
    at = cell.end
    if (text[at] === ',') continue
    const end = endOfLine(text, at)
    return end === undefined ? undefined : { cells, contentEnd: at, end, isBroken: false }
  }
}

function quotedCell(text: string, from: number): { value: string; end: number } | undefined {
  let value = ''
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] !== '"') value += text[at]
    else if (text[at + 1] === '"') value += text[at++]
    else return { value, end: at + 1 }
  }
  return undefined
}

function plainCell(text: string, from: number): { value: string; end: number } {
  let end = from
  while (end < text.length && text[end] !== ',' && text[end] !== '\n') end++
  if (text[end] !== ',') while (end > from && text[end - 1] === '\r') end--
  return { value: text.slice(from, end), end }
}

/** Returns the offset after CRs and LF, or after CRs at the end of the file; undefined if no line ends at an offset. */
function endOfLine(text: string, from: number): number | undefined {
  let at = from
  while (text[at] === '\r') at++
  if (text[at] === '\n') return at + 1
  return at === text.length ? at : undefined
}

/** Returns the first line of a record with broken quotes, split at every comma. */
function brokenRecord(text: string, from: number): FoundRecord {
  const lineBreak = text.indexOf('\n', from)
  const end = lineBreak === -1 ? text.length : lineBreak + 1
  const content = text.slice(from, end).replace(/\r*\n?$/, '')
  let start = from
  const cells = content.split(',').map((value) => {
    const cell = { value, start }
    start += value.length + 1
    return cell
  })
  return { cells, contentEnd: from + content.length, end, isBroken: true }
}
