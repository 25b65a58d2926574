import { fileMessages } from '@sluice/contract/import-messages'
import { limits } from '@sluice/contract/limits'
import { joinBytes } from './bytes.ts'
import { FileError } from './file-error.ts'
import { contentEnd, pastCrs } from './line-ends.ts'
import { type Scan, scanRecord, startScan } from './scan.ts'
import { byteOrderMark, comma, cr, lf } from './special-bytes.ts'

const { headerBytes } = limits

/** Maximum number of bytes of a line before the first row, with the CRs and the LF at its end. */
const longestLine = 2 * headerBytes

/** The bytes of a header with its line break, and the absolute offset of the byte that follows. */
export interface HeaderRecord {
  bytes: Uint8Array
  end: number
}

/**
 * Finds the header at the start of a file. Drops a leading BOM and leading blank lines. The names are not checked.
 *
 * Both methods throw {@link FileError} for the first problem in this order: empty file, quoting or size, missing line
 * break or a CR outside quotes that ends no line.
 */
export class HeaderReader {
  #data = joinBytes([])
  #offset = 0
  #scan: Scan

  /** Accepts the byte between two names. */
  constructor(separator: number = comma) {
    this.#scan = startScan(0, separator)
  }

  /** Accepts the next bytes of the file. Returns the header if they complete it. */
  push(chunk: Uint8Array): HeaderRecord | undefined {
    this.#data = joinBytes([this.#data, chunk])
    this.#drop(ignoredPrefix(this.#data, this.#offset))
    const [data, scan] = [this.#data, this.#scan]
    // A header of full size may be followed by CRs and LF.
    scanRecord(data, scan, Math.min(data.length, pastCrs(data, headerBytes) + 1, longestLine))
    const bytes = data.subarray(0, scan.at)
    // This message and the other ones: service.md, Errors: 400; service.md, Limits; design.md §3, CSV dialect.
    if (hasLoneCr(bytes, scan.separator)) throw new FileError(fileMessages.noLineBreak)
    if (scan.state === 'broken') throw new FileError(fileMessages.headerQuote)
    const length = scan.state === 'quoted' ? scan.at : contentEnd(bytes, 0, scan.at)
    if (length > headerBytes) throw new FileError(fileMessages.headerTooLarge)
    if (scan.state === 'ended') return { bytes, end: this.#offset + scan.at }
    if (scan.at === longestLine) throw new FileError(fileMessages.headerTooLarge)
    return undefined
  }

  /** Ends the file. Returns its only line, the header, which CRs may end. */
  end(): HeaderRecord {
    const data = this.#data
    if (pastCrs(data, 0) === data.length) throw new FileError(fileMessages.empty)
    if (this.#scan.state === 'quoted') throw new FileError(fileMessages.headerQuote)
    // service.md, Errors: 400.
    if (data.at(-1) !== cr) throw new FileError(fileMessages.noLineBreak)
    return { bytes: data, end: this.#offset + data.length }
  }

  #drop(count: number): void {
    if (count === 0) return
    this.#data = this.#data.subarray(count)
    this.#offset += count
    this.#scan = startScan(0, this.#scan.separator)
  }
}

/** Whether the start of a header has a CR outside quotes that ends no line. */
function hasLoneCr(start: Uint8Array, separator: number): boolean {
  const scan = startScan(0, separator)
  for (let at = start.indexOf(cr); at !== -1; at = start.indexOf(cr, at)) {
    scanRecord(start, scan, at)
    if (scan.state === 'broken') return false
    const next = scan.state === 'quoted' ? at : pastCrs(start, at)
    if (next > at && next < start.length && start[next] !== lf) return true
    at = Math.max(next, at + 1)
  }
  return false
}

/** Returns how many leading bytes do not belong to the header: a BOM at the start of the file, and blank lines. */
function ignoredPrefix(data: Uint8Array, offset: number): number {
  const hasMark = offset === 0 && byteOrderMark.every((byte, at) => data[at] === byte)
  let end = hasMark ? byteOrderMark.length : 0
  for (;;) {
    const past = pastCrs(data, end)
    if (data[past] !== lf || past - end >= longestLine) return end
    end = past + 1
  }
}
