import fc from 'fast-check'

/** A change of bytes: some bytes from a place on are replaced by others. */
export interface Edit {
  at: number
  removed: number
  inserted: Buffer
  /** How often the bytes are inserted. */
  times: number
}

/** Bytes and numbers that readers treat specially more often than others. */
const special = [
  ...['\0', '\t', '\n', '\r', ' ', ...'"%&\'+,-./:;<=>?[]{}\\'],
  ...['-1', '255', '65536', '4294967296', '9007199254740993', '1e999'],
]

/** The length of the longest usual input, bytes. A reader with quadratic time is noticed by repeated insertions. */
const usualLength = 2_048
const repeatedLength = 65_536

/** Returns the bytes of a Latin-1 text, in which each character stands for a byte. */
export const latin1 = (text: string | Buffer) => (typeof text === 'string' ? Buffer.from(text, 'latin1') : text)

/** Makes one to five changes with words of a dictionary, pieces of other inputs, and any bytes. */
export function editsOf(dictionary: readonly string[], others: readonly Buffer[]): fc.Arbitrary<Edit[]> {
  const piece = fc.record({ of: fc.constantFrom(...others), from: fc.nat(usualLength), bytes: fc.nat(256) })
  const inserted = fc.oneof(
    fc.constant(Buffer.alloc(0)),
    fc.uint8Array({ minLength: 1, maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(...special, ...dictionary, ...dictionary).map(latin1),
    piece.map(({ of, from, bytes }) => of.subarray(from % (of.length + 1)).subarray(0, bytes)),
  )
  const times = fc.oneof(
    { weight: 999, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.constant(repeatedLength) },
  )
  const removed = fc.oneof(fc.constant(0), fc.nat(9), fc.nat(256))
  return fc.array(fc.record({ at: fc.nat(), removed, inserted, times }), { minLength: 1, maxLength: 5 })
}

/** Returns the bytes after the changes: at most 2 KiB of them, or 64 KiB after a repeated insertion. */
export function edited(input: Buffer, edits: readonly Edit[]): Buffer {
  const longest = edits.some(({ times }) => times > 1) ? repeatedLength : Math.max(usualLength, input.length)
  const change = (bytes: Buffer, { at, removed, inserted, times }: Edit) => {
    const from = at % (bytes.length + 1)
    const many = Math.min(times, Math.ceil(longest / Math.max(inserted.length, 1)))
    const between = Buffer.alloc(inserted.length * many, inserted.length > 0 ? inserted : 0)
    return Buffer.concat([bytes.subarray(0, from), between, bytes.subarray(from + removed)]).subarray(0, longest)
  }
  return edits.reduce(change, input)
}
