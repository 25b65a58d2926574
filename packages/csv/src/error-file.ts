import { COMMA, CR, LF, QUOTE, SERVICE_ERRORS } from './dialect.ts'
import { type CellOffsets, cellCount } from './row-block.ts'

/**
 * The header of an error file (service.md, Error CSV file): SERVICE_ERRORS and the uploaded columns, without one of that
 * name. Takes the uploaded columns, gives the line in UTF-8.
 */
export function errorFileHeader(columns: readonly string[]): Buffer {
  const names = [SERVICE_ERRORS, ...columns.filter((name) => name !== SERVICE_ERRORS)].map((name) => Buffer.from(name))
  return line((take) => {
    for (const name of names) take(name, 0, name.length)
  })
}

/**
 * A row of an error file. Takes all messages of the row, where its cells lie, and the uploaded columns. Gives the line.
 *
 * Values are the original bytes, so that the file can be corrected and uploaded again: also where they are not UTF-8, and
 * where a spreadsheet would take them for a formula. Values that the row lacks are empty; values beyond the columns follow
 * the others.
 */
export function errorFileRow(
  messages: readonly string[],
  cells: CellOffsets,
  row: number,
  columns: readonly string[],
): Buffer {
  const message = Buffer.from(messages.join(', '))
  const reserved = columns.indexOf(SERVICE_ERRORS)
  const count = cellCount(cells, row)
  const first = cells.firstCell[row] ?? 0
  return line((take) => {
    take(message, 0, message.length)
    for (let index = 0; index < Math.max(count, columns.length); index++) {
      if (index === reserved) continue
      if (index >= count) take(message, 0, 0)
      else take(cells.bytes, cells.cellStart[first + index] ?? 0, cells.cellEnd[first + index] ?? 0)
    }
  })
}

/** Takes the next value of a line, the bytes from `start` to `end`. */
type TakeValue = (bytes: Buffer, start: number, end: number) => void

/** A line of values. They are gone through twice, first for its length: a row of a million cells makes no million objects. */
function line(eachValue: (take: TakeValue) => void): Buffer {
  let length = 0
  eachValue((bytes, start, end) => {
    const quotes = quotesNeeded(bytes, start, end)
    length += end - start + quotes + 1
  })
  const target = Buffer.allocUnsafe(length)
  let at = 0
  eachValue((bytes, start, end) => {
    at =
      quotesNeeded(bytes, start, end) === 0
        ? plain(bytes, start, end, target, at)
        : quoted(bytes, start, end, target, at)
    target[at++] = COMMA
  })
  target[length - 1] = LF
  return target
}

/** Quotes that a value needs beside its own, so that a reader does not misread it. */
function quotesNeeded(bytes: Buffer, start: number, end: number): number {
  let quotes = 0
  let isSpecial = false
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) quotes++
    else if (byte === COMMA || byte === CR || byte === LF) isSpecial = true
  }
  return isSpecial || quotes > 0 ? quotes + 2 : 0
}

function plain(bytes: Buffer, start: number, end: number, target: Buffer, to: number): number {
  return to + bytes.copy(target, to, start, end)
}

function quoted(bytes: Buffer, start: number, end: number, target: Buffer, to: number): number {
  let at = to
  target[at++] = QUOTE
  for (let from = start; from < end; from++) {
    const byte = bytes[from] ?? 0
    if (byte === QUOTE) target[at++] = QUOTE
    target[at++] = byte
  }
  target[at++] = QUOTE
  return at
}
