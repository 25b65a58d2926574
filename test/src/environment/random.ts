/** Returns an integer from 0 up to, but not including, `below`. */
export type Random = (below: number) => number

/** Creates a seeded generator (mulberry32). The same seed produces the same numbers on every machine. */
export function seeded(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    return scrambled(state) % below
  }
}

/** Returns a whole number from 0 to 2^32 − 1 that seems to have nothing to do with `state`, but depends on it alone. */
export function scrambled(state: number): number {
  let value = Math.imul(state ^ (state >>> 15), state | 1)
  value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
  return (value ^ (value >>> 14)) >>> 0
}

/** Returns a random item. Throws if there is none. */
export function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[random(items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const result: Item[] = []
  for (const item of items) result.splice(random(result.length + 1), 0, item)
  return result
}
