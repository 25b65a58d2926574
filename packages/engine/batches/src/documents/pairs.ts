import type { ByteWriter } from '@sluice/profiles'

/*
 * A document has the values of a row, in the binary form of `hstore`: the number of its pairs in four bytes, then each
 * pair. A pair is the length of its key in four bytes, the key in UTF-8, the length of its value in four bytes, and the
 * text of the value. The length -1 stands for a key without a value.
 */

/** Bytes of a length, and of the number of pairs. */
export const lengthBytes = 4

/** The length of the value of a key that a row removes from the profile. */
export const noValue = -1

/** Returns the beginning of a pair: the length of its key, the key, and room for the length of its value. */
export function pairKey(key: string): Buffer {
  const bytes = Buffer.from(`\0\0\0\0${key}\0\0\0\0`)
  bytes.writeInt32BE(bytes.length - 2 * lengthBytes)
  return bytes
}

/**
 * Writes the length of the value that begins at this offset and ends where the writer is. No value has 2^16 bytes, and
 * {@link pairKey} has written zeros, so two bytes are enough.
 */
export function writeLength({ bytes, length }: ByteWriter, valueAt: number): void {
  bytes[valueAt - 1] = (length - valueAt) & 0xff
  bytes[valueAt - 2] = (length - valueAt) >> 8
}

/** Returns the key of a pair's beginning. */
export function keyOf(pairKey: Buffer): string {
  return pairKey.toString('utf8', lengthBytes, pairKey.length - lengthBytes)
}

/** Reads the pairs of a document, without an object for each of them. */
export class Pairs {
  readonly #bytes: Buffer
  #left: number
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  /** The offset after the pair; after the number of pairs before the first one is read. */
  end: number

  /** Accepts the offset of the document. */
  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes
    this.#left = bytes.readInt32BE(start)
    this.end = start + lengthBytes
  }

  /** Moves to the next pair. Returns false if there is none. */
  next(): boolean {
    if (this.#left === 0) return false
    this.#left--
    this.keyStart = this.end + lengthBytes
    this.keyEnd = this.keyStart + this.#bytes.readInt32BE(this.end)
    this.valueStart = this.keyEnd + lengthBytes
    this.end = this.valueStart + Math.max(0, this.#bytes.readInt32BE(this.keyEnd))
    return true
  }
}

/**
 * Writes the pairs of documents that the writer holds, at these offsets. The last document that has a key decides its
 * value. Returns the number of pairs.
 */
export function writeJoinedPairs(writer: ByteWriter, documents: readonly number[]): number {
  const keys = new Set<string>()
  for (const start of documents.toReversed()) {
    const pairs = new Pairs(writer.bytes, start)
    while (pairs.next()) {
      const key = writer.bytes.toString('latin1', pairs.keyStart, pairs.keyEnd)
      if (keys.has(key)) continue
      keys.add(key)
      writer.write(writer.bytes, pairs.keyStart - lengthBytes, pairs.end)
    }
  }
  return keys.size
}
