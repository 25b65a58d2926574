/** The program of `sip-hash.wat` in binary form, as base64. */
export const binary =
  'AGFzbQEAAAABFQJgCH5+f398f39/AGAFf39/f38BfwMDAgABBQMBAAEHHAMGbWVtb3J5AgAIaGFzaFJvd3MAAARsb29rAAEKvQQCmwMEAn8BfgJ/BH4CQANAIAVFDQEgAysDACAEoashCSAJIAZLBEAgBiEJCyAJIAJrIQkgCSEIIABC9crNg9es27fzAIUhDSABQoPfkfOWzNy35ACFIQ4gAELh5JXz1uzZvOwAhSEPIAFC88rRy6eM2bL0AIUhEEEAIQwCQANAQQIhCyAIQQhPBEAgAikDACEKIAJBCGohAiAIQQhrIQgFIAxBAWohDCAMQQFGBEAgCa1COIYgAikDAEIBIAhBA3SthkIBfYOEIQogAiAIaiECQQAhCAVCACEKQQQhCyAMQQJGBEAgD0LuAYUhDwUgDkLdAYUhDgsLCyAQIAqFIRADQCANIA58IQ0gDyAQfCEPIA5CDYkgDYUhDiAQQhCJIA+FIRAgDUIgiSENIA8gDnwhDyANIBB8IQ0gDkIRiSAPhSEOIBBCFYkgDYUhECAPQiCJIQ8gC0EBayILDQALIA0gCoUhDSAMQQJJDQAgByANIA6FIA8gEIWFNwMAIAdBCGohByAMQQJGDQALCyADQQhqIQMgBUEBayEFDAALCwudAQIBfgJ/AkADQCABRQ0BIAApAwAhBSAAQQhqNQIAIAOtfkIgiKchBiACQQE6AAACQANAIAZBA3QpAwBQBEAgAkEAOgAAIAdBAWohByAEBEAgBkEDdCAFNwMACwwCCyAGQQN0KQMAIAVRDQEgBkEBaiEGIAYgA0YEQEEAIQYLDAALCyAAQRBqIQAgAkEBaiECIAFBAWshAQwACwsgBws='

/** What this file uses of WebAssembly. The types of Node lack it, and those of browsers declare much else. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer
    /** Adds pages of 64 KiB. `buffer` is another one then. */
    grow(pages: number): number
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module)
    readonly exports: unknown
  }
}

/** Bytes of a key, and of a hash. */
export const keyBytes = 16
export const hashBytes = 16

/** What `sip-hash.wat` exports. */
interface Program {
  memory: WebAssembly.Memory
  /** Accepts two halves of the key, then `at`, `endsAt`, `origin`, `count`, `limit` and `hashesAt`. */
  hashRows(key0: bigint, key1: bigint, ...places: number[]): void
  /** Accepts `hashesAt`, `count`, `foundAt`, `slots`, and 1 to add the hashes. */
  look(...places: number[]): number
}

/** What hashing some rows found. */
export interface HashedRows {
  /** 16 bytes for each row. */
  hashes: Buffer
  /** A byte for each row, 1 if the set has its hash; undefined without a set. */
  found: Uint8Array | undefined
}

let module: WebAssembly.Module | undefined

/**
 * Hashes rows, and may have a set of hashes. A set may be large, and its memory is freed with this object.
 *
 * The set compares the first 64 bits of a hash with about five others. So a hash that is not in it is found by chance
 * with a probability of about 2^-61.
 */
export class HashProgram {
  readonly #program: Program
  readonly #slots: number

  /** Accepts the number of slots of the set, eight bytes each. One of them must stay empty. */
  constructor(slots = 0) {
    module ??= new WebAssembly.Module(Buffer.from(binary, 'base64'))
    this.#program = new WebAssembly.Instance(module).exports as Program
    this.#slots = slots
  }

  /**
   * Hashes rows that follow each other, with SipHash-2-4 of 128 bits. The rows begin at the first of `bytes`. `ends`
   * has the offset after each row, all of them `origin` too large. A row that is cut off counts as ending with the
   * bytes.
   *
   * Returns what is valid until the next call.
   */
  hashRows(key: Buffer, bytes: Uint8Array, ends: Float64Array, origin: number): HashedRows {
    if (key.length !== keyBytes) throw new Error(`a key has ${keyBytes} bytes, not ${key.length}`)
    const count = ends.length
    // The memory holds the set, the rows, their ends, their hashes, and whether the set has them, one after another.
    // The last word of a row is read whole.
    const at = this.#slots * slotBytes
    const endsAt = at + Math.ceil((bytes.length + 8) / 8) * 8
    const hashesAt = endsAt + count * Float64Array.BYTES_PER_ELEMENT
    const foundAt = hashesAt + count * hashBytes
    const buffer = this.#reserve(foundAt + count)
    new Uint8Array(buffer).set(bytes, at)
    new Float64Array(buffer, endsAt, count).set(ends)
    const [key0, key1] = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)]
    this.#program.hashRows(key0, key1, at, endsAt, origin - at, count, at + bytes.length, hashesAt)
    const hashes = Buffer.from(buffer, hashesAt, count * hashBytes)
    if (this.#slots === 0) return { hashes, found: undefined }
    this.#program.look(hashesAt, count, foundAt, this.#slots, 0)
    return { hashes, found: new Uint8Array(buffer, foundAt, count) }
  }

  /** Adds hashes to the set. Returns how many it did not have. */
  add(hashes: Buffer): number {
    const count = hashes.length / hashBytes
    const hashesAt = this.#slots * slotBytes
    const foundAt = hashesAt + hashes.length
    new Uint8Array(this.#reserve(foundAt + count)).set(hashes, hashesAt)
    return this.#program.look(hashesAt, count, foundAt, this.#slots, 1)
  }

  /** Returns the memory, with at least so many bytes. */
  #reserve(bytes: number): ArrayBuffer {
    const { memory } = this.#program
    const missing = bytes - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / pageBytes))
    return memory.buffer
  }
}

/** Bytes of a slot of the set. */
export const slotBytes = 8

const pageBytes = 2 ** 16
