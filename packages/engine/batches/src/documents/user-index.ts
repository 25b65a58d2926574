import type { ElementList } from './element-list.ts'

/** At most half of the slots are in use. */
const slotsPerUser = 2

/** Finds users of a batch by the bytes of their IDs. A Map would need a string for each ID. */
export class UserIndex {
  readonly #ids: ElementList
  /** Hash table with open addressing: a user's number + 1, or 0 for an empty slot. */
  #slots = new Int32Array(2 ** 10)
  /** By user, the hash of its ID. */
  #hashes = new Int32Array(2 ** 10 / slotsPerUser)

  /** Accepts the list of IDs. Call {@link add} after each ID that is added to the list. */
  constructor(ids: ElementList) {
    this.#ids = ids
  }

  clear(): void {
    this.#slots.fill(0)
  }

  /** Returns the number of the user with this ID; -1 if there is none. `hash` is the ID's `hashOf`. */
  find(source: Uint8Array, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const user = (this.#slots[slot] ?? 0) - 1
      if (user === -1) return -1
      if (this.#hashes[user] === hash && this.#ids.equals(user, source, start, end)) return user
    }
  }

  /** Adds the user whose ID was added last. */
  add(user: number, hash: number): void {
    if (user >= this.#hashes.length) this.#grow(user)
    this.#hashes[user] = hash
    this.#insert(user, hash)
  }

  /** Whether one of the first `count` users is also in another index. */
  sharesUsersWith(other: UserIndex, count: number): boolean {
    const { bytes } = this.#ids.writer
    for (let user = 0; user < count; user++) {
      const start = this.#ids.startOf(user)
      if (other.find(bytes, start, this.#ids.endOf(user), this.#hashes[user] ?? 0) !== -1) return true
    }
    return false
  }

  #insert(user: number, hash: number): void {
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
    for (let user = 0; user < users; user++) this.#insert(user, hashes[user] ?? 0)
  }
}
