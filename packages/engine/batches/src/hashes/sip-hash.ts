/** The program of `sip-hash.wat` in binary form, as base64. */
export const binary =
  'AGFzbQEAAAABCwFgB35+f3x/f38AAwIBAAUDAQABBxUCBm1lbW9yeQIACGhhc2hSb3dzAAAKngMBmwMEA38BfgJ/BH4CQANAIARFDQEgAisDACADoashCSAJIAVLBEAgBSEJCyAJIAdrIQkgCSEIIABC9crNg9es27fzAIUhDSABQoPfkfOWzNy35ACFIQ4gAELh5JXz1uzZvOwAhSEPIAFC88rRy6eM2bL0AIUhEEEAIQwCQANAQQIhCyAIQQhPBEAgBykDACEKIAdBCGohByAIQQhrIQgFIAxBAWohDCAMQQFGBEAgCa1COIYgBykDAEIBIAhBA3SthkIBfYOEIQogByAIaiEHQQAhCAVCACEKQQQhCyAMQQJGBEAgD0LuAYUhDwUgDkLdAYUhDgsLCyAQIAqFIRADQCANIA58IQ0gDyAQfCEPIA5CDYkgDYUhDiAQQhCJIA+FIRAgDUIgiSENIA8gDnwhDyANIBB8IQ0gDkIRiSAPhSEOIBBCFYkgDYUhECAPQiCJIQ8gC0EBayILDQALIA0gCoUhDSAMQQJJDQAgBiANIA6FIA8gEIWFNwMAIAZBCGohBiAMQQJGDQALCyACQQhqIQIgBEEBayEEDAALCws='

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
  /** Accepts two halves of the key, then `endsAt`, `origin`, `count`, `limit` and `hashesAt`. */
  hashRows(key0: bigint, key1: bigint, ...places: number[]): void
}

let program: Program | undefined

/**
 * Hashes rows that follow each other, with SipHash-2-4 of 128 bits. The rows begin at the first of `bytes`. `ends` has
 * the offset after each row, all of them `origin` too large. A row that is cut off counts as ending with the bytes.
 *
 * Returns 16 bytes for each row, valid until the next call.
 */
export function hashRows(key: Buffer, bytes: Uint8Array, ends: Float64Array, origin: number): Buffer {
  if (key.length !== keyBytes) throw new Error(`a key has ${keyBytes} bytes, not ${key.length}`)
  program ??= loadProgram()
  // The memory holds the rows, their ends and their hashes, one after another. The last word of a row is read whole.
  const endsAt = Math.ceil((bytes.length + 8) / 8) * 8
  const hashesAt = endsAt + ends.length * Float64Array.BYTES_PER_ELEMENT
  reserve(program.memory, hashesAt + ends.length * hashBytes)
  const { buffer } = program.memory
  new Uint8Array(buffer).set(bytes)
  new Float64Array(buffer, endsAt, ends.length).set(ends)
  const [key0, key1] = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)]
  program.hashRows(key0, key1, endsAt, origin, ends.length, bytes.length, hashesAt)
  return Buffer.from(buffer, hashesAt, ends.length * hashBytes)
}

function loadProgram(): Program {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(binary, 'base64')))
  return exports as Program
}

const pageBytes = 2 ** 16

function reserve(memory: WebAssembly.Memory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength
  if (missing > 0) memory.grow(Math.ceil(missing / pageBytes))
}
