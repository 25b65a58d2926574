import { limits, type ValueType } from '@sluice/contract'
import { encodeCell } from './cell.ts'
import { areDigits } from './digits.ts'
import { datetimeBytes, writePlainDatetime } from './plain-datetime.ts'
import type { RowProblem } from './value-type.ts'

const minus = 0x2d
const point = 0x2e
const zero = 0x30

/** A string of at most this many bytes never exceeds the limit of characters. */
const shortStringBytes = limits.stringLength

/** A number with at most this many digits is always exact as a double. */
const exactDigits = 15

/** If a fraction has more leading zeros than this, JavaScript may write it with an exponent. */
const plainZeros = 5

/**
 * Writes bytes and values into a buffer that grows. The stored text of a cell is the same as from {@link encodeCell}.
 * If the bytes of a cell need no conversion, as in nearly all cells, they are copied without a string in between.
 */
export class ByteWriter {
  /** The buffer, in which only the first {@link length} bytes are written. A larger buffer replaces a full one. */
  bytes: Buffer
  length = 0

  constructor(initialSize: number) {
    this.bytes = Buffer.allocUnsafe(initialSize)
  }

  /** Makes room for a number of bytes. */
  reserve(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + bytes))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  writeByte(byte: number): void {
    this.reserve(1)
    this.bytes[this.length++] = byte
  }

  /** Writes four bytes, the most significant byte first. */
  writeInt32(value: number): void {
    this.reserve(4)
    this.length = this.bytes.writeInt32BE(value, this.length)
  }

  /** Writes eight bytes of a whole number that is exact as a double, the most significant byte first. */
  writeInt64(value: number): void {
    this.writeInt32(Math.floor(value / 2 ** 32))
    this.writeInt32(value | 0)
  }

  /** Writes bytes as they are. */
  write(source: Buffer, start = 0, end = source.length): void {
    this.reserve(end - start)
    const { bytes } = this
    let to = this.length
    // Most slices are so short that calling `copy` would take longer.
    if (end - start > 64) to += source.copy(bytes, to, start, end)
    else for (let at = start; at < end; at++) bytes[to++] = source[at] ?? 0
    this.length = to
  }

  /**
   * Writes the value of a cell, which is `source` from `start` to `end` and must not be empty. Accepts the type of its
   * column, and whether the bytes are known to be UTF-8 without NUL.
   *
   * Returns the problem if the value cannot be stored. Nothing is written then.
   */
  writeCell(source: Buffer, start: number, end: number, type: ValueType, isText: boolean): RowProblem | undefined {
    const before = this.length
    // No text that is copied or converted byte by byte is longer.
    this.reserve(shortStringBytes)
    if (this.#writePlain(source, start, end, type, isText)) return undefined
    this.length = before
    const text = encodeCell(source.subarray(start, end), type)
    if (typeof text !== 'string') return text
    this.reserve(text.length * 3)
    this.length += this.bytes.write(text, this.length, 'utf8')
    return undefined
  }

  /** Writes a cell in a common form, byte by byte. Returns false if the cell may need a conversion. */
  #writePlain(source: Buffer, start: number, end: number, type: ValueType, isText: boolean): boolean {
    switch (type) {
      case 'string':
        return this.#writeString(source, start, end, isText)
      case 'int':
        return this.#writeInteger(source, start, end)
      case 'decimal':
        return this.#writeDecimal(source, start, end)
      case 'datetime':
        return this.#writeDatetime(source, start, end)
    }
  }

  #writeString(source: Buffer, start: number, end: number, isText: boolean): boolean {
    if (end - start > shortStringBytes) return false
    if (!isText && !isPlainText(source, start, end)) return false
    this.write(source, start, end)
    return true
  }

  #writeInteger(source: Buffer, start: number, end: number): boolean {
    const digits = source[start] === minus ? start + 1 : start
    if (!isPlainInteger(source, digits, end) || (digits > start && source[digits] === zero)) return false
    this.write(source, start, end)
    return true
  }

  #writeDecimal(source: Buffer, start: number, end: number): boolean {
    const digits = source[start] === minus ? start + 1 : start
    let pointAt = digits
    while (pointAt < end && source[pointAt] !== point) pointAt++
    if (pointAt === end) return this.#writeInteger(source, start, end)
    if (!isPlainInteger(source, digits, pointAt) || end - digits > exactDigits) return false
    if (!areDigits(source, pointAt + 1, end)) return false
    // Zero may have a sign, and a number near zero may need an exponent.
    if (source[digits] === zero && !isPlainFraction(source, pointAt + 1, end)) return false
    let last = end - 1
    while (source[last] === zero) last--
    this.write(source, start, last === pointAt ? pointAt : last + 1)
    return true
  }

  #writeDatetime(source: Buffer, start: number, end: number): boolean {
    if (!writePlainDatetime(source, start, end, this.bytes, this.length)) return false
    this.length += datetimeBytes
    return true
  }
}

/** Whether bytes are ASCII without NUL. */
function isPlainText(source: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = source[at] ?? 0
    if (byte === 0 || byte >= 0x80) return false
  }
  return true
}

/** Whether bytes are digits without a leading zero, and few enough to be exact as a double. */
function isPlainInteger(source: Buffer, start: number, end: number): boolean {
  if (end - start > exactDigits || (source[start] === zero && end - start > 1)) return false
  return areDigits(source, start, end)
}

/** Whether one of the first {@link plainZeros} digits of a fraction is not zero. */
function isPlainFraction(source: Buffer, start: number, end: number): boolean {
  const last = Math.min(end, start + plainZeros)
  for (let at = start; at < last; at++) if (source[at] !== zero) return true
  return false
}
