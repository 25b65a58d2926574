import type { ValueType } from '@sluice/contract'
import { headerLine, LineWriter } from '@sluice/csv'
import { type ChangedRow, readChangedRows } from './changed-rows.ts'
import { JsonMembers } from './json-members.ts'

/** The columns of a changes file. */
export const changesFileColumns = ['user_id', 'key', 'type', 'before', 'after']

/** The first line of a changes file (changes.md §1, The changes file). */
export const changesFileHeader = headerLine(changesFileColumns)

/** Bytes of lines that are returned at a time. */
const pieceBytes = 2 ** 18

/** A key that rows may change. */
interface ChangedKey {
  /** Its place among the columns of the file. */
  place: number
  type: ValueType
  /** In UTF-8. */
  name: Buffer
  typeName: Buffer
}

/** A changed value of a row: its ranges in the content, −1 where there is none. */
interface Change {
  key: ChangedKey
  beforeStart: number
  beforeEnd: number
  afterStart: number
  afterEnd: number
}

/** Makes the lines of a changes file from rows in their short form (changes.md §1, The changes file). */
export class ChangeLines {
  /** The first changed row that did not fit. No row after it is written. */
  endsBeforeRow: number | undefined
  readonly #keys: ReadonlyMap<string, ChangedKey>
  readonly #writer = new LineWriter()
  readonly #found: Change[] = []
  #left: number

  /** Accepts the columns in their order, their types, and the bytes that all lines may take. */
  constructor(columns: readonly string[], types: Readonly<Record<string, ValueType>>, maxBytes: number) {
    const keys = columns.flatMap((key, place) => {
      const type = Object.hasOwn(types, key) ? types[key] : undefined
      return type === undefined
        ? []
        : [[key, { place, type, name: Buffer.from(key), typeName: Buffer.from(type) }] as const]
    })
    this.#keys = new Map(keys)
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
    const userId = unescaped(content, row.idStart, row.idEnd)
    for (const { key, beforeStart, beforeEnd, afterStart, afterEnd } of this.#changesOf(content, row)) {
      this.#writer.value(userId, 0, userId.length)
      this.#writer.value(key.name, 0, key.name.length)
      this.#writer.value(key.typeName, 0, key.typeName.length)
      this.#writeValue(content, beforeStart, beforeEnd, key.type)
      this.#writeValue(content, afterStart, afterEnd, key.type)
      this.#writer.endLine()
    }
  }

  /** Returns the changes of a row in the order of the file's columns. */
  #changesOf(content: Buffer, { before, after }: ChangedRow): readonly Change[] {
    const found = this.#found
    found.length = 0
    const old = new JsonMembers(content, before)
    while (old.next()) {
      const key = this.#keyAt(content, old)
      const { valueStart: beforeStart, valueEnd: beforeEnd } = old
      if (key !== undefined) found.push({ key, beforeStart, beforeEnd, afterStart: -1, afterEnd: -1 })
    }
    const replaced = found.length === 0 ? undefined : new Map(found.map((change) => [change.key, change]))
    const young = new JsonMembers(content, after)
    while (young.next()) {
      const key = this.#keyAt(content, young)
      if (key === undefined) continue
      const { valueStart: afterStart, valueEnd: afterEnd } = young
      const known = replaced?.get(key)
      if (known === undefined) found.push({ key, beforeStart: -1, beforeEnd: -1, afterStart, afterEnd })
      else [known.afterStart, known.afterEnd] = [afterStart, afterEnd]
    }
    return found.sort((one, other) => one.key.place - other.key.place)
  }

  #keyAt(content: Buffer, { keyStart, keyEnd }: JsonMembers): ChangedKey | undefined {
    return this.#keys.get(unescaped(content, keyStart, keyEnd).toString())
  }

  /** Writes a value as an export does (`statement.ts` of packages/engine/exports), and an empty string as `""`. */
  #writeValue(content: Buffer, start: number, end: number, type: ValueType): void {
    const value = start === -1 ? none : exported(content, start, end, type)
    if (value.length > 0 || start === -1) this.#writer.value(value, 0, value.length)
    else {
      this.#writer.reserve(emptyString.length)
      this.#writer.length += emptyString.copy(this.#writer.bytes, this.#writer.length)
    }
  }
}

const none = Buffer.alloc(0)
const emptyString = Buffer.from('"",')

function exported(content: Buffer, start: number, end: number, type: ValueType): Buffer {
  switch (type) {
    case 'string':
      return unescaped(content, start + 1, end - 1)
    case 'datetime':
      return Buffer.from(`${content.toString('latin1', start + 1, end - 1).replace(' ', 'T')}Z`)
    case 'int':
      return Buffer.from(plainNumber(content.toString('latin1', start, end)))
    case 'decimal': {
      const number = plainNumber(content.toString('latin1', start, end))
      return Buffer.from(number.includes('.') ? number : `${number}.0`)
    }
  }
}

/** Returns the text of a JSON string, from after its opening quote to its closing quote. */
function unescaped(content: Buffer, start: number, end: number): Buffer {
  const bytes = content.subarray(start, end)
  return bytes.includes(0x5c) ? Buffer.from(JSON.parse(`"${bytes}"`)) : bytes
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
