/** A seeded random number generator (mulberry32): the same seed makes the same sample on every machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0 to 1, excluding 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns a whole number from `least` to `most`, including both. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  /** Returns true with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.integer(0, items.length - 1)] ?? items[0]
  }
}
