import type { ValueType } from '@sluice/contract'
import { textOid, uuidOid } from '@sluice/database'
import { ByteWriter, type RowProblem } from '@sluice/profiles'
import { hashOf } from '../hashes/user-hash.ts'
import { documentOfUser, writeCopyRows } from './copy-rows.ts'
import { ElementList } from './element-list.ts'
import { inKeyOrder } from './key-order.ts'
import { keyOf, lengthBytes, noValue, writeJoinedPairs, writeLength } from './pairs.ts'
import { UserIndex } from './user-index.ts'

/** Stands for a missing hash. With 16 bytes, two rows of one user never have the same hash by chance. */
const noHash = Buffer.alloc(16)

/**
 * What may come next:
 *
 * - `users`: rows' users, or the first row's values.
 * - `rows`: the next row's values, or reading the documents.
 * - `open row`: a value of the row, or its end.
 * - `refused row`: a value of the row, or dropping it, because one of its values cannot be stored.
 * - `complete`: reading the documents, which were joined by user.
 */
type Phase = 'users' | 'rows' | 'open row' | 'refused row' | 'complete'

/** A row: the ranges of its user's ID and of its document, and its number in the batch. */
export interface RowOfBatch {
  ids: Buffer
  idStart: number
  idEnd: number
  documents: Buffer
  documentStart: number
  documentEnd: number
  row: number
}

/**
 * What a batch of rows changes in profiles. It has each user once, in order of appearance.
 *
 * Usage, in this order; any other order throws:
 *
 * 1. {@link addRow} adds the user of each row, and {@link addHash} a hash of the row. A lookup needs no more than that.
 * 2. {@link beginRow}, {@link addValue} or {@link addRemoval} for each key, then {@link keepRow} or {@link dropRow} add
 *    the values of the rows that are to be written. They become documents in the bytes that Postgres accepts
 *    (`pairs.ts`), without an object for each value. Later rows of a user win, key by key.
 * 3. {@link documentArray} and {@link copyRows} return the documents. Buffers are valid until {@link clear}, which
 *    begins at 1 again, or {@link clearValues}, which begins at 2 again. Both keep the memory.
 */
export class ProfileBatch {
  readonly #ids = new ElementList(textOid)
  readonly #index = new UserIndex(this.#ids)
  readonly #documents: ElementList
  readonly #hashes = new ElementList(uuidOid)
  readonly #rowWriter = new ByteWriter(2 ** 10)
  /** By user, the number of its document; -1 if it has none. */
  readonly #documentOf: number[] = []
  /** By document, the number of its row in the batch. */
  readonly #rowOf: number[] = []
  /** By user with several rows, the documents of the rows in order. They are joined when the batch is complete. */
  readonly #rowsOf = new Map<number, number[]>()
  #phase: Phase = 'users'
  /** Pairs of the open row, and the beginnings of pairs without a value. */
  #pairs = 0
  readonly #removals = new Set<Buffer>()
  /** The bytes that hold the cells of the open row, and whether they are known to be UTF-8 without NUL. */
  #source: Buffer = noHash
  #isText = false

  /** Accepts the OID of `hstore` in the database that the documents are for. */
  constructor(hstoreOid: number) {
    this.#documents = new ElementList(hstoreOid)
  }

  /** The keys that rows remove from profiles. Documents have no value for such a key of their row. */
  get removedKeys(): string[] {
    return Array.from(this.#removals, keyOf)
  }

  get hasRemovals(): boolean {
    return this.#removals.size > 0
  }

  get size(): number {
    return this.#ids.count
  }

  clear(): void {
    this.#index.clear()
    this.#ids.clear()
    this.#hashes.clear()
    this.#documentOf.length = 0
    this.#rowsOf.clear()
    this.clearValues()
  }

  /** Removes the values and keeps the users. */
  clearValues(): void {
    this.#documents.clear()
    this.#rowOf.length = 0
    this.#documentOf.fill(-1)
    for (const rows of this.#rowsOf.values()) rows.length = 0
    this.#removals.clear()
    this.#phase = 'users'
  }

  /**
   * Adds a row's user. The bytes of its ID must be UTF-8 without NUL, and have this `hashOf`. Returns the user's number
   * in this batch.
   */
  addRow(source: Buffer, start: number, end: number, idHash = hashOf(source, start, end)): number {
    if (this.#phase !== 'users') throw outOfOrder('addRow', this.#phase)
    const known = this.#index.find(source, start, end, idHash)
    if (known !== -1) {
      this.#rowsOf.set(known, [])
      return known
    }
    this.#ids.begin().write(source, start, end)
    const number = this.#ids.end()
    this.#hashes.begin().write(noHash)
    this.#hashes.end()
    this.#documentOf.push(-1)
    this.#index.add(number, idHash)
    return number
  }

  /**
   * Sets the hash of the row that was added last, and of its user: the 16 bytes of `hashes` from `at` on. It must
   * differ if the same row has another meaning (columns, types). A user with several rows keeps no hash.
   */
  addHash(user: number, hashes: Buffer, at: number): void {
    const { bytes } = this.#hashes.writer
    const start = this.#hashes.startOf(user)
    if (this.isRepeated(user)) bytes.fill(0, start, this.#hashes.endOf(user))
    else hashes.copy(bytes, start, at, at + noHash.length)
  }

  /** Whether a user of this batch is also a user of another batch. */
  sharesUsersWith(other: ProfileBatch): boolean {
    return this.#index.sharesUsersWith(other.#index, this.size)
  }

  /** Begins the document of a row whose cells are in `source`. `isText`: they are known to be UTF-8 without NUL. */
  beginRow(source: Buffer, isText: boolean): void {
    if (this.#phase !== 'users' && this.#phase !== 'rows') throw outOfOrder('beginRow', this.#phase)
    this.#phase = 'open row'
    this.#source = source
    this.#isText = isText
    this.#pairs = 0
    this.#documents.begin().writeInt32(0)
  }

  /**
   * Adds a value to the row, at most one of a key. Accepts the beginning of its pair. The cell is the row's source from
   * `start` to `end`, not empty.
   *
   * Returns the problem if the value cannot be stored. The row must then be dropped, after more values if there are
   * any.
   */
  addValue(key: Buffer, start: number, end: number, type: ValueType): RowProblem | undefined {
    const writer = this.#beginPair('addValue', key)
    const valueAt = writer.length
    const problem = writer.writeCell(this.#source, start, end, type, this.#isText)
    if (problem !== undefined) this.#phase = 'refused row'
    writeLength(writer, valueAt)
    return problem
  }

  /** Notes in the row that a key is removed from the profile. Later rows of the user may set the key again. */
  addRemoval(key: Buffer): void {
    const writer = this.#beginPair('addRemoval', key)
    writer.bytes.writeInt32BE(noValue, writer.length - lengthBytes)
    this.#removals.add(key)
  }

  /** Ends the row, and assigns its values to this user. Accepts the number of the row in the batch. */
  keepRow(user: number, row: number): void {
    if (this.#phase !== 'open row') throw outOfOrder('keepRow', this.#phase)
    if (user < 0 || user >= this.size) throw new Error(`user ${user} is not in the batch`)
    if (this.#pairs === 0) {
      this.dropRow()
      return
    }
    this.#phase = 'rows'
    const document = this.#endDocument()
    this.#documentOf[user] = document
    this.#rowOf[document] = row
    this.#rowsOf.get(user)?.push(document)
  }

  /** Ends the row. Nothing of it is applied. */
  dropRow(): void {
    if (this.#phase !== 'open row' && this.#phase !== 'refused row') throw outOfOrder('dropRow', this.#phase)
    this.#phase = 'rows'
    this.#documents.drop()
  }

  /** Returns a `text[]` of the IDs of all users, or of the users with these numbers. */
  idArray(users?: readonly number[]): Buffer {
    return users === undefined ? this.#ids.array() : this.#ids.arrayOf(users)
  }

  /** Returns an `hstore[]` of the documents of these users. Each user must have a document. */
  documentArray(users: readonly number[]): Buffer {
    this.#complete()
    return this.#documents.arrayOf(users.map((user) => documentOfUser(this.#documentOf, user)))
  }

  /**
   * Returns the profiles of these users as rows for `copyInto`, in about the order of the IDs. Each user must have a
   * document.
   */
  copyRows(appId: number, users: readonly number[]): Buffer {
    this.#complete()
    const lists = { id: this.#ids, hash: this.#hashes, document: this.#documents, documentOf: this.#documentOf }
    return writeCopyRows(this.#rowWriter, appId, lists, inKeyOrder(this.#ids, users))
  }

  /**
   * Returns a `uuid[]` of the rows' hashes, for all users or for these users. A user without a hash has a UUID with all
   * bits 0.
   */
  hashArray(users?: readonly number[]): Buffer {
    return users === undefined ? this.#hashes.array() : this.#hashes.arrayOf(users)
  }

  /** Whether a user has several rows in this batch, with values or without. */
  isRepeated(user: number): boolean {
    return this.#rowsOf.has(user)
  }

  /**
   * Returns the rows of these users by user: a `text[]` of their users' IDs, an `hstore[]` of their documents, and
   * their numbers in the batch. Each user must have a document.
   */
  rowArrays(users: readonly number[]): { ids: Buffer; documents: Buffer; numbers: number[] } {
    const rows = users.flatMap((user) => this.#documentsOf(user).map((document) => ({ user, document })))
    return {
      ids: this.#ids.arrayOf(rows.map(({ user }) => user)),
      documents: this.#documents.arrayOf(rows.map(({ document }) => document)),
      numbers: rows.map(({ document }) => this.#rowOf[document] ?? 0),
    }
  }

  /** Returns the rows of these users. Each user must have a document. The object is reused for each row. */
  *rowsOf(users: readonly number[]): Generator<RowOfBatch, void, void> {
    const [ids, documents] = [this.#ids.writer.bytes, this.#documents.writer.bytes]
    const row: RowOfBatch = { ids, idStart: 0, idEnd: 0, documents, documentStart: 0, documentEnd: 0, row: 0 }
    for (const user of users)
      for (const document of this.#documentsOf(user)) {
        row.idStart = this.#ids.startOf(user)
        row.idEnd = this.#ids.endOf(user)
        row.documentStart = this.#documents.startOf(document)
        row.documentEnd = this.#documents.endOf(document)
        row.row = this.#rowOf[document] ?? 0
        yield row
      }
  }

  #documentsOf(user: number): readonly number[] {
    return this.#rowsOf.get(user) ?? [documentOfUser(this.#documentOf, user)]
  }

  /** Whether a user has new values in this batch. */
  hasDocument(user: number): boolean {
    return this.#documentOf[user] !== -1
  }

  /** Writes the beginning of the open row's next pair. Returns the writer for its value. */
  #beginPair(step: string, key: Buffer): ByteWriter {
    if (this.#phase !== 'open row' && this.#phase !== 'refused row') throw outOfOrder(step, this.#phase)
    this.#pairs++
    this.#documents.writer.write(key)
    return this.#documents.writer
  }

  /** Closes the open document, which has `#pairs` pairs. Returns its number. */
  #endDocument(): number {
    const { writer, openLength } = this.#documents
    writer.bytes.writeInt32BE(this.#pairs, writer.length - openLength)
    return this.#documents.end()
  }

  /** Joins the documents of each user. The last row that has a key decides its value (design.md §4, Order). */
  #complete(): void {
    if (this.#phase === 'open row' || this.#phase === 'refused row') throw outOfOrder('reading', this.#phase)
    if (this.#phase === 'complete') return
    this.#phase = 'complete'
    for (const [user, documents] of this.#rowsOf) {
      if (documents.length < 2) continue
      const starts = documents.map((document) => this.#documents.startOf(document))
      this.#documents.begin().writeInt32(0)
      this.#pairs = writeJoinedPairs(this.#documents.writer, starts)
      this.#documentOf[user] = this.#endDocument()
    }
  }
}

function outOfOrder(step: string, phase: Phase): Error {
  return new Error(`a profile batch was used out of order: ${step} in phase "${phase}"`)
}
