import type { ElementList } from './element-list.ts'

/** Part of every hash, so that nobody can make up user IDs that all have the same. */
const seed = crypto.getRandomValues(new Int32Array(1))[0] ?? 0

/** At most every other slot is taken. */
const slotsPerUser = 2

/** Gives a hash of some bytes, the same throughout this process. */
export function hashOf(source: Uint8Array, start: number, end: number): number {
  let hash = seed ^ (end - start)
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (source[at] ?? 0), 0x5bd1e995) ^ (hash >>> 15)
  return hash ^ (hash >>> 13)
}

/** Finds users of a batch by the bytes of their IDs: a Map would need a string of each. */
export class UserIndex {
  readonly #ids: ElementList
  /** Users in a hash table with open addressing: their numbers and 1, or 0 for nobody. */
  #slots = new Int32Array(2 ** 10)
  /** By user. */
  #hashes = new Int32Array(2 ** 10 / slotsPerUser)

  /** Takes the IDs, of users in order; {@link add} says that one was added. */
  constructor(ids: ElementList) {
    this.#ids = ids
  }

  clear(): void {
    this.#slots.fill(0)
  }

  /** The number of the user with this ID, and this {@link hashOf} it; -1 where there is none. */
  find(source: Uint8Array, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const user = (this.#slots[slot] ?? 0) - 1
      if (user === -1) return -1
      if (this.#hashes[user] === hash && this.#ids.isAt(user, source, start, end)) return user
    }
  }

  /** Takes the user who was added last. */
  add(user: number, hash: number): void {
    if (user >= this.#hashes.length) this.#grow(user)
    this.#hashes[user] = hash
    this.#put(user, hash)
  }

  /** Whether one of its first `count` users is also one of another index. */
  sharesUsersWith(other: UserIndex, count: number): boolean {
    const { bytes } = this.#ids.writer
    for (let user = 0; user < count; user++) {
      const start = this.#ids.startOf(user)
      if (other.find(bytes, start, this.#ids.endOf(user), this.#hashes[user] ?? 0) !== -1) return true
    }
    return false
  }

  #put(user: number, hash: number): void {
    const mask = this.#slots.length - 1
    let slot = hash & mask
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
    this.#slots[slot] = user + 1
  }

  #grow(users: number): void {
    const hashes = new Int32Array(this.#hashes.length * 2)
    hashes.set(this.#hashes)
    this.#hashes = hashes
    this.#slots = new Int32Array(hashes.length * slotsPerUser)
    for (let user = 0; user < users; user++) this.#put(user, hashes[user] ?? 0)
  }
}
