import type { ValueType } from '@sluice/contract'
import { headerLine, LineWriter } from '@sluice/csv'
import { type ChangedRow, readChangedRows } from './changed-rows.ts'
import { JsonMembers } from './json-members.ts'
import { MemberKeys } from './member-keys.ts'

/** The columns of a changes file. */
export const changesFileColumns = ['user_id', 'key', 'type', 'before', 'after']

/** The first line of a changes file (changes.md §1, The changes file). */
export const changesFileHeader = headerLine(changesFileColumns)

/** Bytes of lines that are returned at a time. */
const pieceBytes = 2 ** 18

/** A key that rows may change, and how a row changes it: ranges of values in the content, −1 where there is none. */
interface ChangedKey {
  /** Its place among the columns of the file. */
  place: number
  type: ValueType
  /** The cells of its name and its type, each with its comma. */
  cells: Buffer
  beforeStart: number
  beforeEnd: number
  afterStart: number
  afterEnd: number
}

/** Makes the lines of a changes file from rows in their short form (changes.md §1, The changes file). */
export class ChangeLines {
  /** The first changed row that did not fit. No row after it is written. */
  endsBeforeRow: number | undefined
  readonly #keys: MemberKeys<ChangedKey | undefined>
  readonly #writer = new LineWriter()
  readonly #found: ChangedKey[] = []
  #left: number

  /** Accepts the columns in their order, their types, and the bytes that all lines may take. */
  constructor(columns: readonly string[], types: Readonly<Record<string, ValueType>>, maxBytes: number) {
    const places = new Map(columns.map((key, place) => [key, place]))
    this.#keys = new MemberKeys((key) => {
      const [place, type] = [places.get(key), Object.hasOwn(types, key) ? types[key] : undefined]
      if (place === undefined || type === undefined) return undefined
      return { place, type, cells: cellsOf(key, type), beforeStart: -1, beforeEnd: -1, afterStart: -1, afterEnd: -1 }
    })
    this.#left = maxBytes
  }

  /** Returns the lines of whole rows in pieces, as far as they fit. */
  *of(content: Buffer): Generator<Buffer, void, void> {
    const writer = this.#writer
    for (const row of readChangedRows(content)) {
      if (this.endsBeforeRow !== undefined) return
      const start = writer.length
      this.#writeRow(content, row)
      if (writer.length - start > this.#left) {
        writer.length = start
        this.endsBeforeRow = row.number
        break
      }
      this.#left -= writer.length - start
      // The reader of a piece may keep it, so the next lines need memory of their own.
      if (writer.length >= pieceBytes) yield Buffer.from(writer.take())
    }
    if (writer.length > 0) yield Buffer.from(writer.take())
  }

  #writeRow(content: Buffer, row: ChangedRow): void {
    const writer = this.#writer
    const start = writer.length
    let idLength = 0
    for (const key of this.#changesOf(content, row)) {
      // The user's cell is the same in each line of the row.
      if (idLength > 0) writer.copy(writer.bytes, start, start + idLength)
      else {
        this.#writeText(content, row.idStart, row.idEnd)
        idLength = writer.length - start
      }
      writer.copy(key.cells, 0, key.cells.length)
      this.#writeValue(content, key.beforeStart, key.beforeEnd, key.type)
      this.#writeValue(content, key.afterStart, key.afterEnd, key.type)
      writer.endLine()
      key.beforeStart = -1
      key.afterStart = -1
    }
  }

  /** Returns the keys that a row changes, in the order of the file's columns. */
  #changesOf(content: Buffer, { before, after }: ChangedRow): readonly ChangedKey[] {
    const found = this.#found
    found.length = 0
    const old = new JsonMembers(content, before)
    while (old.next()) {
      const key = this.#keys.find(content, old)
      if (key === undefined) continue
      key.beforeStart = old.valueStart
      key.beforeEnd = old.valueEnd
      found.push(key)
    }
    const young = new JsonMembers(content, after)
    while (young.next()) {
      const key = this.#keys.find(content, young)
      if (key === undefined) continue
      key.afterStart = young.valueStart
      key.afterEnd = young.valueEnd
      if (key.beforeStart === -1) found.push(key)
    }
    // Most rows have their keys in the order of the columns. Sorting takes as long as all else.
    return isInOrder(found) ? found : found.sort((one, other) => one.place - other.place)
  }

  /** Writes a value as an export does (`statement.ts` of packages/engine/exports), and an empty string as `""`. */
  #writeValue(content: Buffer, start: number, end: number, type: ValueType): void {
    const writer = this.#writer
    if (start === -1) writer.copy(comma, 0, 1)
    else if (type === 'string' && end - start === 2) writer.copy(emptyString, 0, emptyString.length)
    else if (type === 'string') this.#writeText(content, start + 1, end - 1)
    else if (type === 'datetime') {
      writer.copy(content, start + 1, end - 1)
      writer.bytes[writer.length - (end - start - 2) + dateBytes] = capitalT
      writer.copy(utc, 0, utc.length)
    } else if (isPlain(content, start, end, type)) {
      writer.copy(content, start, end)
      writer.copy(comma, 0, 1)
    } else {
      const number = plainNumber(content.toString('latin1', start, end))
      const value = Buffer.from(type === 'int' || number.includes('.') ? `${number},` : `${number}.0,`)
      writer.copy(value, 0, value.length)
    }
  }

  /** Writes the cell of a JSON string, from after its opening quote to its closing quote. */
  #writeText(content: Buffer, start: number, end: number): void {
    if (!has(content, backslash, start, end)) this.#writer.value(content, start, end)
    else {
      const text = Buffer.from(JSON.parse(`"${content.toString('utf8', start, end)}"`))
      this.#writer.value(text, 0, text.length)
    }
  }
}

const [backslash, capitalT, point, smallE, capitalE] = [0x5c, 0x54, 0x2e, 0x65, 0x45]
const comma = Buffer.from(',')
const emptyString = Buffer.from('"",')
/** The end of a time, after its bytes in a document. */
const utc = Buffer.from('Z,')
const dateBytes = '2024-03-31'.length

function isInOrder(keys: readonly ChangedKey[]): boolean {
  let last = -1
  for (const { place } of keys) {
    if (place < last) return false
    last = place
  }
  return true
}

function has(content: Buffer, byte: number, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (content[at] === byte) return true
  return false
}

/** Whether a number is written as in an export: without an exponent, and a decimal with a point. */
function isPlain(content: Buffer, start: number, end: number, type: 'int' | 'decimal'): boolean {
  if (has(content, smallE, start, end) || has(content, capitalE, start, end)) return false
  return type === 'int' || has(content, point, start, end)
}

/** Returns cells with their commas. */
function cellsOf(...texts: string[]): Buffer {
  const writer = new LineWriter()
  for (const text of texts) {
    const bytes = Buffer.from(text)
    writer.value(bytes, 0, bytes.length)
  }
  return writer.take()
}

/** Returns a number without an exponent, as Postgres writes it. */
function plainNumber(text: string): string {
  const [mantissa = '', exponent] = text.toLowerCase().split('e')
  if (exponent === undefined) return text
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(mantissa) ?? []
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}`.padEnd(point, '0')
  const at = Math.max(1, point)
  return `${sign}${digits.slice(0, at)}${at < digits.length ? `.${digits.slice(at)}` : ''}`
}
