import type { ValueType } from '@sluice/contract'
import { encodeCell } from './cell.ts'
import { areDigits } from './digits.ts'
import { datetimeBytes, writePlainDatetime } from './plain-datetime.ts'
import type { RowProblem } from './value-type.ts'

/** Longest JSON text that {@link JsonWriter} makes of a cell without going by way of a string, bytes. */
const longestPlain = 260

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const SPACE = 0x20

/** Most bytes of a string that certainly is within its length, and most digits of a number that certainly is exact. */
const shortString = 255
const exactDigits = 15

/** A fraction with more zeros than this behind the point may be written with an exponent. */
const plainZeros = 5

/**
 * Writes JSON text into a buffer that grows. What a cell becomes is what {@link encodeCell} makes of it; but where its
 * bytes need no conversion, which is nearly always, they go straight over, without a string in between.
 */
export class JsonWriter {
  /** What was written, up to {@link length}; replaced when it grows. */
  bytes: Buffer
  length = 0

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafe(bytes)
  }

  /** Makes room for so many more bytes. */
  reserve(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + bytes))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** Writes one ASCII character. */
  writeByte(byte: number): void {
    this.reserve(1)
    this.bytes[this.length++] = byte
  }

  /** Writes four bytes, the most significant first. */
  writeInt32(value: number): void {
    this.reserve(4)
    this.length = this.bytes.writeInt32BE(value, this.length)
  }

  /** Writes bytes as they are. */
  write(source: Buffer, start = 0, end = source.length): void {
    this.reserve(end - start)
    const { bytes } = this
    let to = this.length
    // Most are too short for a call of copy to be worth it.
    if (end - start > 64) to += source.copy(bytes, to, start, end)
    else for (let at = start; at < end; at++) bytes[to++] = source[at] ?? 0
    this.length = to
  }

  /** Writes the first characters of a string, each of which stands for a byte. */
  writeLatin1(text: string, characters: number): void {
    this.reserve(characters)
    this.length += this.bytes.write(text, this.length, characters, 'latin1')
  }

  /**
   * Writes the value of a cell that is not empty, `source` from `start` to `end`. Takes the type of its column, and whether
   * the bytes are known to be UTF-8 without NUL.
   *
   * Gives why it can't be stored, with nothing written.
   */
  writeCell(source: Buffer, start: number, end: number, type: ValueType, isText: boolean): RowProblem | undefined {
    const before = this.length
    this.reserve(longestPlain)
    if (this.#writePlain(source, start, end, type, isText)) return undefined
    this.length = before
    const json = encodeCell(source.subarray(start, end), type)
    if (typeof json !== 'string') return json
    this.reserve(json.length * 3)
    this.length += this.bytes.write(json, this.length, 'utf8')
    return undefined
  }

  /** Writes the cell if its bytes are as the JSON text has them; false, where that needs a closer look. */
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
    if (end - start > shortString) return false
    const { bytes } = this
    let to = this.length
    bytes[to++] = QUOTE
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte < SPACE || byte === QUOTE || byte === BACKSLASH || (byte >= 0x80 && !isText)) return false
      bytes[to++] = byte
    }
    bytes[to++] = QUOTE
    this.length = to
    return true
  }

  #writeInteger(source: Buffer, start: number, end: number): boolean {
    const digits = source[start] === MINUS ? start + 1 : start
    if (!isPlainInteger(source, digits, end) || (digits > start && source[digits] === ZERO)) return false
    this.write(source, start, end)
    return true
  }

  #writeDecimal(source: Buffer, start: number, end: number): boolean {
    const digits = source[start] === MINUS ? start + 1 : start
    let point = digits
    while (point < end && source[point] !== POINT) point++
    if (point === end) return this.#writeInteger(source, start, end)
    if (!isPlainInteger(source, digits, point) || end - digits > exactDigits) return false
    if (!areDigits(source, point + 1, end)) return false
    // What is zero, or near to it, has a sign or an exponent to think of.
    if (source[digits] === ZERO && !isPlainFraction(source, point + 1, end)) return false
    let last = end - 1
    while (source[last] === ZERO) last--
    this.write(source, start, last === point ? point : last + 1)
    return true
  }

  #writeDatetime(source: Buffer, start: number, end: number): boolean {
    const { bytes, length } = this
    if (!writePlainDatetime(source, start, end, bytes, length + 1)) return false
    bytes[length] = QUOTE
    bytes[length + 1 + datetimeBytes] = QUOTE
    this.length += datetimeBytes + 2
    return true
  }
}

/** Digits without a zero before others, few enough to be exact as a double. */
function isPlainInteger(source: Buffer, start: number, end: number): boolean {
  if (end === start || end - start > exactDigits || (source[start] === ZERO && end - start > 1)) return false
  return areDigits(source, start, end)
}

/** Digits of which one of the first is not zero. */
function isPlainFraction(source: Buffer, start: number, end: number): boolean {
  const last = Math.min(end, start + plainZeros)
  for (let at = start; at < last; at++) if (source[at] !== ZERO) return true
  return false
}
