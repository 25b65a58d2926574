import { writeArrayHeader } from '@sluice/database'
import { JsonWriter } from '../values/json-writer.ts'

/** Bytes before an array's elements, and before each of them: its length. */
const headerBytes = 20
const lengthBytes = 4

/** The elements of an array parameter, written one behind the other as Postgres takes them. */
export class ElementList {
  /** Where the content of the open element goes. */
  readonly writer = new JsonWriter(2 ** 16)
  readonly #type: 'text' | 'uuid'
  /** Where each element begins, its length included; the last entry is where the next one will. */
  #offsets = new Uint32Array(2 ** 10)
  /** Where the first array of chosen elements is put together. */
  #chosen = Buffer.alloc(0)
  #isChosenTaken = false
  count = 0

  constructor(type: 'text' | 'uuid') {
    this.#type = type
    this.clear()
  }

  clear(): void {
    this.count = 0
    this.#isChosenTaken = false
    this.#offsets[0] = headerBytes
    this.writer.length = headerBytes
  }

  /** Opens an element; gives where to write it. */
  begin(): JsonWriter {
    this.writer.reserve(lengthBytes)
    this.writer.length += lengthBytes
    return this.writer
  }

  /** Bytes of the open element so far. */
  get openLength(): number {
    return this.writer.length - this.#offset(this.count) - lengthBytes
  }

  /** Closes the open element, gives its number. */
  end(): number {
    this.writer.bytes.writeInt32BE(this.openLength, this.#offset(this.count))
    return this.#add()
  }

  /** Takes the open element away. */
  drop(): void {
    this.writer.length = this.#offset(this.count)
  }

  /** Where the content of an element begins in the writer's bytes. */
  startOf(element: number): number {
    return this.#offset(element) + lengthBytes
  }

  /** Where the content of an element ends in the writer's bytes. */
  endOf(element: number): number {
    return this.#offset(element + 1)
  }

  /** Writes an element with its length before it, as Postgres takes any value. */
  writeTo(writer: JsonWriter, element: number): void {
    writer.write(this.writer.bytes, this.#offset(element), this.#offset(element + 1))
  }

  /** Whether an element's content is the same as these bytes. */
  isAt(element: number, source: Uint8Array, start: number, end: number): boolean {
    const { bytes } = this.writer
    let at = this.startOf(element)
    if (this.endOf(element) - at !== end - start) return false
    for (let from = start; from < end; from++, at++) if (bytes[at] !== source[from]) return false
    return true
  }

  /** The array of all elements, without a copy. */
  array(): Buffer {
    writeArrayHeader(this.writer.bytes, this.#type, this.count)
    return this.writer.bytes.subarray(0, this.writer.length)
  }

  /** The array of chosen elements, good until all are cleared: not copied where they are all there are, in order. */
  arrayOf(elements: readonly number[]): Buffer {
    if (elements.length === this.count && elements.every((element, index) => element === index)) return this.array()
    let length = headerBytes
    for (const element of elements) length += this.#offset(element + 1) - this.#offset(element)
    const array = this.#room(length)
    let at = writeArrayHeader(array, this.#type, elements.length)
    for (let index = 0; index < elements.length; ) {
      // Those that lie behind each other are copied at once.
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

  /** Memory for an array: mostly there is one between two times that all are cleared, which has it from the time before. */
  #room(bytes: number): Buffer {
    if (this.#isChosenTaken) return Buffer.allocUnsafe(bytes)
    this.#isChosenTaken = true
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
