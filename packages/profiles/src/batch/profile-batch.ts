import { hash } from 'node:crypto'
import type { ValueType } from '@sluice/contract'
import { arrayHeader } from '@sluice/database'
import { JsonWriter } from '../values/json-writer.ts'
import type { RowProblem } from '../values/value-type.ts'

/** Bytes of a document's hash: enough that two documents of one user never have the same by chance. */
const hashBytes = 16

/** Bytes before an element of a binary array, and what stands there for NULL. */
const lengthBytes = 4
const nullElement = Buffer.from([0xff, 0xff, 0xff, 0xff])

const OPEN = 0x7b
const CLOSE = 0x7d
const COMMA = 0x2c

/** Where an element lies among those of its kind, its length included. */
interface Element {
  start: number
  end: number
}

/**
 * What a batch of rows does to profiles: each of its users once, in order of appearance, with a JSON document of the new
 * values, or without one, where all that is asked is whether the user is registered.
 *
 * A row is put in by {@link beginRow}, {@link addValue} for each of its values, and then {@link keepRow} or
 * {@link dropRow}. It becomes bytes that Postgres takes as they are, with nothing made for a single value on the way. Later
 * rows of a user win, key by key.
 */
export class ProfileBatch {
  readonly #numbers = new Map<string, number>()
  readonly #ids = new JsonWriter(2 ** 14)
  readonly #idElements: Element[] = []
  readonly #documents = new JsonWriter(2 ** 18)
  readonly #documentElements: (Element | undefined)[] = []
  /** The documents, in order, of users that have more than one row: they are joined when the batch is complete. */
  readonly #toJoin = new Map<number, Element[]>()
  #rowStart = 0
  #hashes: Buffer | undefined

  /** How many users it has. */
  get size(): number {
    return this.#idElements.length
  }

  /** Gives the number of a user in this batch, by the bytes of its ID, which must be UTF-8 without NUL. */
  userNumber(source: Buffer, start: number, end: number): number {
    const name = source.toString('latin1', start, end)
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    const number = this.#idElements.length
    const from = this.#ids.length
    writeLength(this.#ids, end - start)
    this.#ids.write(source, start, end)
    this.#idElements.push({ start: from, end: this.#ids.length })
    this.#documentElements.push(undefined)
    this.#numbers.set(name, number)
    return number
  }

  /** Whether one of its users is also one of another batch. */
  sharesUsersWith(other: ProfileBatch): boolean {
    for (const name of this.#numbers.keys()) if (other.#numbers.has(name)) return true
    return false
  }

  /** Begins the document of a row. */
  beginRow(): void {
    this.#rowStart = this.#documents.length
    writeLength(this.#documents, 0)
    this.#documents.writeByte(OPEN)
  }

  /**
   * Adds a value to the row: `jsonKey` is `"key":`, the cell is `source` from `start` to `end`, not empty; `isText` says that
   * it is known to be UTF-8 without NUL. Gives why it can't be stored; the row has to be dropped then.
   */
  addValue(
    jsonKey: Buffer,
    source: Buffer,
    start: number,
    end: number,
    type: ValueType,
    isText: boolean,
  ): RowProblem | undefined {
    if (!this.#isEmptyRow()) this.#documents.writeByte(COMMA)
    this.#documents.write(jsonKey)
    return this.#documents.writeCell(source, start, end, type, isText)
  }

  /** Ends the row: it is one of this user. */
  keepRow(user: number): void {
    if (this.#isEmptyRow()) {
      this.dropRow()
      return
    }
    this.#documents.writeByte(CLOSE)
    const document = this.#endElement(this.#rowStart)
    const before = this.#documentElements[user]
    this.#documentElements[user] = document
    if (before === undefined) return
    const all = this.#toJoin.get(user)
    if (all === undefined) this.#toJoin.set(user, [before, document])
    else all.push(document)
  }

  /** Ends the row: nothing of it is applied. */
  dropRow(): void {
    this.#documents.length = this.#rowStart
  }

  /** `text[]` of the IDs of all users, or of those with the numbers given. */
  idArray(users?: readonly number[]): Buffer {
    if (users === undefined) {
      return Buffer.concat([arrayHeader('text', this.size), this.#ids.bytes.subarray(0, this.#ids.length)])
    }
    return gather('text', this.#ids.bytes, this.#idElements, users)
  }

  /** `text[]` of the documents of users that have one. */
  documentArray(users: readonly number[]): Buffer {
    this.#join()
    return gather('text', this.#documents.bytes, this.#documentElements, users)
  }

  /** `uuid[]` of the hashes of documents, NULL for users without one; of all users, or of those with the numbers given. */
  hashArray(users?: readonly number[]): Buffer {
    this.#hashes ??= this.#hashDocuments()
    const width = lengthBytes + hashBytes
    const numbers = users ?? this.#idElements.keys()
    const parts = [arrayHeader('uuid', users?.length ?? this.size)]
    for (const user of numbers) {
      const has = this.hasDocument(user)
      parts.push(has ? this.#hashes.subarray(user * width, (user + 1) * width) : nullElement)
    }
    return Buffer.concat(parts)
  }

  /** Whether a user has new values in this batch. */
  hasDocument(user: number): boolean {
    return this.#documentElements[user] !== undefined
  }

  #isEmptyRow(): boolean {
    return this.#documents.length === this.#rowStart + lengthBytes + 1
  }

  /** Writes the length of the element that began at an offset and ends here. */
  #endElement(start: number): Element {
    const end = this.#documents.length
    this.#documents.bytes.writeInt32BE(end - start - lengthBytes, start)
    return { start, end }
  }

  /** A key that stands twice in a JSON object has its last value for Postgres, which is just the rule for rows. */
  #join(): void {
    for (const [user, elements] of this.#toJoin) {
      const start = this.#documents.length
      writeLength(this.#documents, 0)
      for (const [index, element] of elements.entries()) {
        this.#documents.writeByte(index === 0 ? OPEN : COMMA)
        this.#documents.write(this.#documents.bytes, element.start + lengthBytes + 1, element.end - 1)
      }
      this.#documents.writeByte(CLOSE)
      this.#documentElements[user] = this.#endElement(start)
    }
    this.#toJoin.clear()
  }

  /** The elements of a `uuid[]`, one for each user. */
  #hashDocuments(): Buffer {
    this.#join()
    const width = lengthBytes + hashBytes
    const hashes = Buffer.alloc(this.size * width)
    for (const [user, element] of this.#documentElements.entries()) {
      if (element === undefined) continue
      const document = this.#documents.bytes.subarray(element.start + lengthBytes, element.end)
      const at = hashes.writeInt32BE(hashBytes, user * width)
      hash('sha256', document, 'buffer').copy(hashes, at, 0, hashBytes)
    }
    return hashes
  }
}

function writeLength(writer: JsonWriter, length: number): void {
  writer.reserve(lengthBytes)
  writer.length = writer.bytes.writeInt32BE(length, writer.length)
}

/** An array of chosen elements. Those that lie behind each other are copied at once, mostly all of them. */
function gather(
  type: 'text',
  bytes: Buffer,
  elements: readonly (Element | undefined)[],
  chosen: readonly number[],
): Buffer {
  const parts = [arrayHeader(type, chosen.length)]
  let start = 0
  let end = 0
  for (const index of chosen) {
    const element = elements[index]
    if (element === undefined) throw new Error(`the batch has nothing to send for its user ${index}`)
    if (element.start !== end) {
      parts.push(bytes.subarray(start, end))
      start = element.start
    }
    end = element.end
  }
  parts.push(bytes.subarray(start, end))
  return Buffer.concat(parts)
}
