// MD5 (RFC 1321) for browsers, whose crypto.subtle does not have it. The API identifies an upload by this digest; it
// protects against broken transfers, not against attackers.

const blockBytes = 64

/** Left rotations of the four rounds, repeated for each group of four steps. */
const rotations = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
].flatMap((round) => [...round, ...round, ...round, ...round])

const constants = Uint32Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32))

/** By step, the index of the word that the step reads from the block. */
const wordOfStep = Uint8Array.from({ length: 64 }, (_, step) => {
  const multiples: readonly (readonly [factor: number, offset: number])[] = [
    [1, 0],
    [5, 1],
    [3, 5],
    [7, 0],
  ]
  const [factor, offset] = multiples[step >> 4] ?? [1, 0]
  return (factor * step + offset) % 16
})

/** Computes the MD5 digest of bytes that arrive in chunks. */
export class Md5 {
  readonly #state = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476)
  readonly #words = new Uint32Array(16)
  readonly #rest = new Uint8Array(blockBytes)
  #restBytes = 0
  #totalBytes = 0

  update(chunk: Uint8Array): void {
    this.#totalBytes += chunk.length
    let at = 0
    if (this.#restBytes > 0) {
      at = Math.min(blockBytes - this.#restBytes, chunk.length)
      this.#rest.set(chunk.subarray(0, at), this.#restBytes)
      this.#restBytes += at
      if (this.#restBytes < blockBytes) return
      this.#addBlock(this.#rest, 0)
    }
    for (; at + blockBytes <= chunk.length; at += blockBytes) this.#addBlock(chunk, at)
    this.#rest.set(chunk.subarray(at))
    this.#restBytes = chunk.length - at
  }

  /** Returns the 16 bytes of the digest. Call it once, after the last chunk. */
  digest(): Uint8Array {
    const total = this.#totalBytes
    // A bit 1, zeros up to the last 8 bytes of a block, and the length in bits.
    const padding = new Uint8Array((((total + 8) >> 6) << 6) + blockBytes - total)
    padding[0] = 0x80
    const view = new DataView(padding.buffer)
    view.setUint32(padding.length - 8, (total % 2 ** 29) * 8, true)
    view.setUint32(padding.length - 4, Math.floor(total / 2 ** 29), true)
    this.update(padding)
    const digest = new DataView(new ArrayBuffer(16))
    this.#state.forEach((word, index) => void digest.setUint32(index * 4, word, true))
    return new Uint8Array(digest.buffer)
  }

  #addBlock(bytes: Uint8Array, at: number): void {
    const words = this.#words
    for (let i = 0, from = at; i < 16; i++, from += 4) words[i] = littleEndian(bytes, from)
    const state = this.#state
    const [a0, b0, c0, d0] = [state[0] ?? 0, state[1] ?? 0, state[2] ?? 0, state[3] ?? 0]
    let [a, b, c, d] = [a0, b0, c0, d0]
    for (let step = 0; step < 64; step++) {
      const sum = a + mix(step >> 4, b, c, d) + (constants[step] ?? 0) + (words[wordOfStep[step] ?? 0] ?? 0)
      const bits = rotations[step] ?? 0
      a = d
      d = c
      c = b
      b = (b + ((sum << bits) | ((sum | 0) >>> (32 - bits)))) | 0
    }
    state[0] = a0 + a
    state[1] = b0 + b
    state[2] = c0 + c
    state[3] = d0 + d
  }
}

function littleEndian(bytes: Uint8Array, at: number): number {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
  return b0 | (b1 << 8) | (b2 << 16) | (b3 << 24)
}

function mix(round: number, b: number, c: number, d: number): number {
  if (round === 0) return (b & c) | (~b & d)
  if (round === 1) return (b & d) | (c & ~d)
  return round === 2 ? b ^ c ^ d : c ^ (b | ~d)
}
