import { writeArrayHeader } from '@sluice/database'
import { ByteWriter } from '@sluice/profiles'

/** Number of bytes of an array's header, and of the length that precedes each element. */
const headerBytes = 20
const lengthBytes = 4

/** The elements of an array parameter, one after another in the binary format of Postgres. */
export class ElementList {
  /** Receives the content of the open element. */
  readonly writer = new ByteWriter(2 ** 16)
  readonly #elementOid: number
  /** The offset of each element, which begins with its length. The last entry is the offset of the next element. */
  #offsets = new Uint32Array(2 ** 10)
  /** Memory for the first array of chosen elements since the list was cleared. */
  #chosen = Buffer.alloc(0)
  #isChosenInUse = false
  count = 0

  /** Accepts the OID of the elements' type. */
  constructor(elementOid: number) {
    this.#elementOid = elementOid
    this.clear()
  }

  clear(): void {
    this.count = 0
    this.#isChosenInUse = false
    this.#offsets[0] = headerBytes
    this.writer.length = headerBytes
  }

  /** Opens an element. Returns the writer for its content. */
  begin(): ByteWriter {
    this.writer.reserve(lengthBytes)
    this.writer.length += lengthBytes
    return this.writer
  }

  /** Bytes of the open element's content so far. */
  get openLength(): number {
    return this.writer.length - this.#offset(this.count) - lengthBytes
  }

  /** Closes the open element. Returns its number. */
  end(): number {
    this.writer.bytes.writeInt32BE(this.openLength, this.#offset(this.count))
    return this.#add()
  }

  /** Adds an element that is NULL. */
  addNull(): void {
    this.writer.writeInt32(-1)
    this.#add()
  }

  /** Removes the open element. */
  drop(): void {
    this.writer.length = this.#offset(this.count)
  }

  /** Returns the offset of an element's content in the writer's bytes. */
  startOf(element: number): number {
    return this.#offset(element) + lengthBytes
  }

  /** Returns the offset in the writer's bytes at which the content of an element ends. */
  endOf(element: number): number {
    return this.#offset(element + 1)
  }

  /** Returns an element's content, valid until the list changes. */
  bytesOf(element: number): Buffer {
    return this.writer.bytes.subarray(this.startOf(element), this.endOf(element))
  }

  /** Writes an element with its preceding length, which is the binary format of any value. */
  writeTo(writer: ByteWriter, element: number): void {
    writer.write(this.writer.bytes, this.#offset(element), this.#offset(element + 1))
  }

  /** Whether an element's content equals these bytes. */
  equals(element: number, source: Uint8Array, start: number, end: number): boolean {
    const { bytes } = this.writer
    let at = this.startOf(element)
    if (this.endOf(element) - at !== end - start) return false
    for (let from = start; from < end; from++, at++) if (bytes[at] !== source[from]) return false
    return true
  }

  /** Returns the array of all elements without copying it. */
  array(): Buffer {
    writeArrayHeader(this.writer.bytes, this.#elementOid, this.count)
    return this.writer.bytes.subarray(0, this.writer.length)
  }

  /**
   * Returns the array of chosen elements, valid until the list is cleared. Copies nothing if all are chosen, in order.
   */
  arrayOf(elements: readonly number[]): Buffer {
    if (elements.length === this.count && elements.every((element, index) => element === index)) return this.array()
    let length = headerBytes
    for (const element of elements) length += this.#offset(element + 1) - this.#offset(element)
    const array = this.#room(length)
    let at = writeArrayHeader(array, this.#elementOid, elements.length)
    for (let index = 0; index < elements.length; ) {
      // Adjacent elements are copied in one call.
      const first = elements[index] ?? 0
      let next = first
      while (elements[index] === next) {
        next++
        index++
      }
      at += this.writer.bytes.copy(array, at, this.#offset(first), this.#offset(next))
    }
    return array
  }

  /** Returns memory for an array. Mostly one array is chosen before the list is cleared, and its memory is reused. */
  #room(bytes: number): Buffer {
    if (this.#isChosenInUse) return Buffer.allocUnsafe(bytes)
    this.#isChosenInUse = true
    if (this.#chosen.length < bytes) this.#chosen = Buffer.allocUnsafe(Math.max(bytes, this.writer.bytes.length))
    return this.#chosen.subarray(0, bytes)
  }

  #offset(element: number): number {
    return this.#offsets[element] ?? 0
  }

  #add(): number {
    if (this.count + 2 > this.#offsets.length) {
      const larger = new Uint32Array(this.#offsets.length * 2)
      larger.set(this.#offsets)
      this.#offsets = larger
    }
    this.#offsets[this.count + 1] = this.writer.length
    return this.count++
  }
}
