import { seed } from './user-hash.ts'

/** The program of `hash-program.wat` in binary form, as base64. */
export const binary =
  'AGFzbQEAAAABIgNgCH5+f398f39/AGAFf39/f38Bf2AKf398f39/f39/fwADBAMAAQIFAwEAAQcpBAZtZW1vcnkCAAhoYXNoUm93cwAABGxvb2sAAQpjaGVja1VzZXJzAAIK0AcDmwMEAn8BfgJ/BH4CQANAIAVFDQEgAysDACAEoashCSAJIAZLBEAgBiEJCyAJIAJrIQkgCSEIIABC9crNg9es27fzAIUhDSABQoPfkfOWzNy35ACFIQ4gAELh5JXz1uzZvOwAhSEPIAFC88rRy6eM2bL0AIUhEEEAIQwCQANAQQIhCyAIQQhPBEAgAikDACEKIAJBCGohAiAIQQhrIQgFIAxBAWohDCAMQQFGBEAgCa1COIYgAikDAEIBIAhBA3SthkIBfYOEIQogAiAIaiECQQAhCAVCACEKQQQhCyAMQQJGBEAgD0LuAYUhDwUgDkLdAYUhDgsLCyAQIAqFIRADQCANIA58IQ0gDyAQfCEPIA5CDYkgDYUhDiAQQhCJIA+FIRAgDUIgiSENIA8gDnwhDyANIBB8IQ0gDkIRiSAPhSEOIBBCFYkgDYUhECAPQiCJIQ8gC0EBayILDQALIA0gCoUhDSAMQQJJDQAgByANIA6FIA8gEIWFNwMAIAdBCGohByAMQQJGDQALCyADQQhqIQMgBUEBayEFDAALCwudAQIBfgJ/AkADQCABRQ0BIAApAwAhBSAAQQhqNQIAIAOtfkIgiKchBiACQQE6AAACQANAIAZBA3QpAwBQBEAgAkEAOgAAIAdBAWohByAEBEAgBkEDdCAFNwMACwwCCyAGQQN0KQMAIAVRDQEgBkEBaiEGIAYgA0YEQEEAIQYLDAALCyAAQRBqIQAgAkEBaiECIAFBAWshAQwACwsgBwuRAwEHfwJAA0AgA0UNASABKwMAIAKhqyEKIAogBEsEQCAEIQoLIAkhDEEsIQ0gCCEOQQAhDwJAAkACQAJAA0AgACAKTw0CIAAtAAAhCyAMRQ0BIAtBIkYNAiALQQpGDQIgDCALQSxGayEMIABBAWohAAwACwsgC0EiRgRAQSIhDSAAQQFqIQALAkADQCAAIApPDQIgAC0AACELIAsgDUYNASANQSxGBEAgC0EKRg0CIAtBDUYNAwsgDiALc0GV08feBWwgDkEPdnMhDiAPQQFqIQ8gAEEBaiEADAALCyAPRQ0AIA1BIkYEQCAAQQFqIApPDQEgAC0AASELCyALQSxGDQEgC0EKRg0BCyAFLQAABEAgBUECOgAABUEBIRALDAELIA4gD3MhDiAOIA5BDXZzIQ4gBiAOIAdxQQN2aiEMQQEgDkEHcXQhCyAFLQAABEAgECAMLQAAIAtxcgRAIAVBAjoAAAsFIAwgDC0AACALcjoAAAsLIAohACABQQhqIQEgBUEBaiEFIANBAWshAwwACwsL'

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

/** What `hash-program.wat` exports. */
interface Program {
  memory: WebAssembly.Memory
  /** Accepts two halves of the key, then `at`, `endsAt`, `origin`, `count`, `limit` and `hashesAt`. */
  hashRows(key0: bigint, key1: bigint, ...places: number[]): void
  /** Accepts `hashesAt`, `count`, `foundAt`, `slots`, and 1 to add the hashes. */
  look(...places: number[]): number
  /** Accepts `at`, `ends`, `origin`, `count`, `limit`, `found`, `noted`, `mask`, `seed` and `column`. */
  checkUsers(...places: number[]): void
}

/** A set of hashes of rows, and the users whose rows in it do not count. */
interface RowSet {
  /** Eight bytes each. One of them must stay empty. */
  slots: number
  /** Bits by which users are noted as written, a power of two. */
  writtenBits: number
  /** Index of the column with the user's ID. */
  userIdIndex: number
}

/** What a set knows of a row. */
export const foundStates = {
  /** The set does not have the row. */
  unknown: 0,
  /** The set has the row, and its user was not written. */
  known: 1,
  /** The set has the row. Whether its user was written is to be looked up. */
  unsure: 2,
} as const

/** What hashing some rows found. */
export interface HashedRows {
  /** 16 bytes for each row. */
  hashes: Buffer
  /** A byte of {@link foundStates} for each row; undefined without a set. */
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
  readonly #set: RowSet | undefined
  /** Where the bits of written users begin in the memory, and where they end. */
  readonly #writtenAt: number
  readonly #setEnd: number
  #written: Uint8Array

  /** Accepts the size of the set, if there is to be one. */
  constructor(set?: RowSet) {
    module ??= new WebAssembly.Module(Buffer.from(binary, 'base64'))
    this.#program = new WebAssembly.Instance(module).exports as Program
    this.#set = set
    this.#writtenAt = (set?.slots ?? 0) * slotBytes
    this.#setEnd = this.#writtenAt + (set?.writtenBits ?? 0) / 8
    this.#written = new Uint8Array(this.#reserve(this.#setEnd), this.#writtenAt, this.#setEnd - this.#writtenAt)
  }

  /**
   * Hashes rows that follow each other, with SipHash-2-4 of 128 bits. The rows begin at the first of `bytes`. `ends`
   * has the offset after each row, all of them `origin` too large. A row that is cut off counts as ending with the
   * bytes.
   *
   * With a set, notes the users of rows that it does not have as written. Returns what is valid until the next call.
   */
  hashRows(key: Buffer, bytes: Uint8Array, ends: Float64Array, origin: number): HashedRows {
    if (key.length !== keyBytes) throw new Error(`a key has ${keyBytes} bytes, not ${key.length}`)
    const count = ends.length
    // The memory holds the set, who was written, the rows, their ends, their hashes, and what the set knows of them,
    // one after another. The last word of a row is read whole.
    const at = this.#setEnd
    const endsAt = at + Math.ceil((bytes.length + 8) / 8) * 8
    const hashesAt = endsAt + count * Float64Array.BYTES_PER_ELEMENT
    const foundAt = hashesAt + count * hashBytes
    const buffer = this.#reserve(foundAt + count)
    new Uint8Array(buffer).set(bytes, at)
    new Float64Array(buffer, endsAt, count).set(ends)
    const [key0, key1] = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)]
    const places = [origin - at, count, at + bytes.length] as const
    this.#program.hashRows(key0, key1, at, endsAt, ...places, hashesAt)
    const hashes = Buffer.from(buffer, hashesAt, count * hashBytes)
    const set = this.#set
    if (set === undefined) return { hashes, found: undefined }
    this.#program.look(hashesAt, count, foundAt, set.slots, 0)
    const users = [this.#writtenAt, set.writtenBits - 1, seed, set.userIdIndex] as const
    this.#program.checkUsers(at, endsAt, ...places, foundAt, ...users)
    return { hashes, found: new Uint8Array(buffer, foundAt, count) }
  }

  /** Notes that a user is written, by the hash of the user's ID. The user's rows are no longer known. */
  noteWritten(userHash: number): void {
    const [at, bit] = this.#bitOf(userHash)
    this.#written[at] = (this.#written[at] ?? 0) | bit
  }

  /** Whether a user may have been written. */
  isWritten(userHash: number): boolean {
    const [at, bit] = this.#bitOf(userHash)
    return ((this.#written[at] ?? 0) & bit) !== 0
  }

  #bitOf(userHash: number): [at: number, bit: number] {
    const place = userHash & ((this.#set?.writtenBits ?? 1) - 1)
    return [place >>> 3, 1 << (place & 7)]
  }

  /** Adds hashes to the set. Returns how many it did not have. */
  add(hashes: Buffer): number {
    const count = hashes.length / hashBytes
    const hashesAt = this.#setEnd
    const foundAt = hashesAt + hashes.length
    new Uint8Array(this.#reserve(foundAt + count)).set(hashes, hashesAt)
    return this.#program.look(hashesAt, count, foundAt, this.#set?.slots ?? 0, 1)
  }

  /** Returns the memory, with at least so many bytes. */
  #reserve(bytes: number): ArrayBuffer {
    const { memory } = this.#program
    const missing = bytes - memory.buffer.byteLength
    if (missing > 0) {
      memory.grow(Math.ceil(missing / pageBytes))
      this.#written = new Uint8Array(memory.buffer, this.#writtenAt, this.#setEnd - this.#writtenAt)
    }
    return memory.buffer
  }
}

/** Bytes of a slot of the set. */
export const slotBytes = 8

const pageBytes = 2 ** 16
