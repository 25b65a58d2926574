import type { ValueType } from '@sluice/contract'
import { JsonWriter } from '../values/json-writer.ts'
import type { RowProblem } from '../values/value-type.ts'
import { writeCopyRows } from './copy-rows.ts'
import { ElementList } from './element-list.ts'
import { hashOf, UserIndex } from './user-index.ts'

/** Bytes of a row's hash: enough that two rows of one user never have the same by chance. */
const hashBytes = 16

const OPEN = 0x7b
const CLOSE = 0x7d
const COMMA = 0x2c

/**
 * What a batch of rows does to profiles: each of its users once, in order of appearance.
 *
 * First every row's user is put in by {@link addRow}, with a hash of the row; that is all that a look-up takes. Then come the
 * values of the rows that are to be written, by {@link beginRow}, {@link addValue} for each, and {@link keepRow} or
 * {@link dropRow}. They become JSON documents, bytes that Postgres takes as they are, with nothing made for a single value
 * on the way. Later rows of a user win, key by key. What it gives is good until {@link clear}, which makes its memory free
 * for another batch.
 */
export class ProfileBatch {
  readonly #ids = new ElementList('text')
  readonly #index = new UserIndex(this.#ids)
  readonly #documents = new ElementList('text')
  readonly #hashes = new ElementList('uuid')
  readonly #rowWriter = new JsonWriter(2 ** 10)
  /** By user, the number of its document; -1 where it has none. */
  readonly #documentOf: number[] = []
  /** The documents, in order, of users that have more than one row: they are joined when the batch is complete. */
  readonly #toJoin = new Map<number, number[]>()

  /** How many users it has. */
  get size(): number {
    return this.#ids.count
  }

  /** Takes everything out of it. */
  clear(): void {
    this.#index.clear()
    this.#ids.clear()
    this.#hashes.clear()
    this.#documentOf.length = 0
    this.clearValues()
  }

  /** Takes the values out, and leaves the users. */
  clearValues(): void {
    this.#documents.clear()
    this.#documentOf.fill(-1)
    this.#toJoin.clear()
  }

  /**
   * Puts a row's user in. Takes the bytes of the ID, which must be UTF-8 without NUL, and the hash of the row as `latin1`
   * text, 16 characters at least. What makes the same row mean the same belongs into `salt`, 16 bytes: other columns or
   * types, another hash.
   *
   * Gives the user's number in this batch. A user with several rows has no hash.
   */
  addRow(source: Buffer, start: number, end: number, hash: string, salt: Buffer): number {
    const idHash = hashOf(source, start, end)
    const known = this.#index.find(source, start, end, idHash)
    if (known !== -1) {
      this.#hashes.writer.bytes.fill(0, this.#hashes.startOf(known), this.#hashes.endOf(known))
      return known
    }
    this.#ids.begin().write(source, start, end)
    this.#hashes.begin().writeLatin1(hash, hashBytes)
    const number = this.#ids.end()
    const at = this.#hashes.startOf(this.#hashes.end())
    const { bytes } = this.#hashes.writer
    for (let index = 0; index < hashBytes; index++) bytes[at + index] = (bytes[at + index] ?? 0) ^ (salt[index] ?? 0)
    this.#documentOf.push(-1)
    this.#index.add(number, idHash)
    return number
  }

  /** Whether one of its users is also one of another batch. */
  sharesUsersWith(other: ProfileBatch): boolean {
    return this.#index.sharesUsersWith(other.#index, this.size)
  }

  /** Begins the document of a row. */
  beginRow(): void {
    this.#documents.begin().writeByte(OPEN)
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
    const { writer } = this.#documents
    if (!this.#isEmptyRow()) writer.writeByte(COMMA)
    writer.write(jsonKey)
    return writer.writeCell(source, start, end, type, isText)
  }

  /** Ends the row: it is one of this user. */
  keepRow(user: number): void {
    if (this.#isEmptyRow()) {
      this.dropRow()
      return
    }
    this.#documents.writer.writeByte(CLOSE)
    const document = this.#documents.end()
    const before = this.#documentOf[user] ?? -1
    this.#documentOf[user] = document
    if (before === -1) return
    const all = this.#toJoin.get(user)
    if (all === undefined) this.#toJoin.set(user, [before, document])
    else all.push(document)
  }

  /** Ends the row: nothing of it is applied. */
  dropRow(): void {
    this.#documents.drop()
  }

  /** `text[]` of the IDs of all users, or of those with the numbers given. */
  idArray(users?: readonly number[]): Buffer {
    return users === undefined ? this.#ids.array() : this.#ids.arrayOf(users)
  }

  /** `text[]` of the documents of users that have one. */
  documentArray(users: readonly number[]): Buffer {
    this.#join()
    return this.#documents.arrayOf(users.map((user) => this.#documentOf[user] ?? -1))
  }

  /** Rows for `copyInto` of the profiles of users that have a document. */
  copyRows(appId: number, users: readonly number[]): Buffer {
    this.#join()
    const lists = { id: this.#ids, hash: this.#hashes, document: this.#documents }
    return writeCopyRows(this.#rowWriter, appId, lists, users, this.#documentOf)
  }

  /** `uuid[]` of the hashes of rows, all bits 0 for users without one; of all users, or of those with the numbers given. */
  hashArray(users?: readonly number[]): Buffer {
    return users === undefined ? this.#hashes.array() : this.#hashes.arrayOf(users)
  }

  /** Whether a user has new values in this batch. */
  hasDocument(user: number): boolean {
    return this.#documentOf[user] !== -1
  }

  #isEmptyRow(): boolean {
    return this.#documents.openLength === 1
  }

  /** A key that stands twice in a JSON object has its last value for Postgres, which is just the rule for rows. */
  #join(): void {
    for (const [user, documents] of this.#toJoin) {
      const writer = this.#documents.begin()
      for (const [index, document] of documents.entries()) {
        const [start, end] = [this.#documents.startOf(document), this.#documents.endOf(document)]
        writer.writeByte(index === 0 ? OPEN : COMMA)
        writer.write(writer.bytes, start + 1, end - 1)
      }
      writer.writeByte(CLOSE)
      this.#documentOf[user] = this.#documents.end()
    }
    this.#toJoin.clear()
  }
}
