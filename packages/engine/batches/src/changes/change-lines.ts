import type { ValueType } from '@sluice/contract'
import { headerLine, LineWriter } from '@sluice/csv'
import { Pairs } from '../documents/pairs.ts'
import { type ChangedRow, readChangedRows } from './changed-rows.ts'
import { PairKeys } from './pair-keys.ts'

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
  readonly #keys: PairKeys<ChangedKey | undefined>
  readonly #writer = new LineWriter()
  readonly #found: ChangedKey[] = []
  #left: number

  /** Accepts the columns in their order, their types, and the bytes that all lines may take. */
  constructor(columns: readonly string[], types: Readonly<Record<string, ValueType>>, maxBytes: number) {
    const places = new Map(columns.map((key, place) => [key, place]))
    this.#keys = new PairKeys((key) => {
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
        writer.value(content, row.idStart, row.idEnd)
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
    const old = new Pairs(content, before)
    while (old.next()) {
      const key = this.#keys.find(content, old)
      if (key === undefined) continue
      key.beforeStart = old.valueStart
      key.beforeEnd = old.end
      found.push(key)
    }
    const young = new Pairs(content, after)
    while (young.next()) {
      const key = this.#keys.find(content, young)
      if (key === undefined) continue
      key.afterStart = young.valueStart
      key.afterEnd = young.end
      if (key.beforeStart === -1) found.push(key)
    }
    // Most rows have their keys in the order of the columns. Sorting takes as long as all else.
    return isInOrder(found) ? found : found.sort((one, other) => one.place - other.place)
  }

  /** Writes a value as an export does (`statement.ts` of packages/engine/exports), and an empty string as `""`. */
  #writeValue(content: Buffer, start: number, end: number, type: ValueType): void {
    const writer = this.#writer
    if (start === -1) writer.copy(comma, 0, 1)
    else if (type === 'string' && start === end) writer.copy(emptyString, 0, emptyString.length)
    else if (type === 'string') writer.value(content, start, end)
    else {
      writer.copy(content, start, end)
      if (type === 'datetime') writer.bytes[writer.length - (end - start) + dateBytes] = capitalT
      const after = type === 'datetime' ? utc : type === 'int' || has(content, point, start, end) ? comma : fraction
      writer.copy(after, 0, after.length)
    }
  }
}

const [capitalT, point] = [0x54, 0x2e]
const comma = Buffer.from(',')
const emptyString = Buffer.from('"",')
/** What follows the text of a time, and of a decimal without a point. */
const utc = Buffer.from('Z,')
const fraction = Buffer.from('.0,')
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

/** Returns cells with their commas. */
function cellsOf(...texts: string[]): Buffer {
  const writer = new LineWriter()
  for (const text of texts) {
    const bytes = Buffer.from(text)
    writer.value(bytes, 0, bytes.length)
  }
  return writer.take()
}
