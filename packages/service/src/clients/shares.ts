/** Something of which a process has a limited amount, such as bytes or places. No owner can hold all of it. */
export interface Shares {
  /**
   * Reserves an amount on behalf of one or more owners, such as an app and a person.
   *
   * Returns a function that gives the amount back; calling it again does nothing. Returns undefined if the whole, or the share
   * of an owner, does not have so much left.
   */
  take(owners: readonly string[], amount?: number): (() => void) | undefined
}

/** Opens shares: `all` is how much there is, and `each` how much of it one owner can hold. */
export function openShares({ all, each }: { all: number; each: number }): Shares {
  const held = new Map<string, number>()
  let total = 0

  const add = (owner: string, amount: number) => {
    const left = (held.get(owner) ?? 0) + amount
    if (left > 0) held.set(owner, left)
    else held.delete(owner)
  }

  return {
    take(owners, amount = 1) {
      if (total + amount > all || owners.some((owner) => (held.get(owner) ?? 0) + amount > each)) return undefined
      const distinct = new Set(owners)
      total += amount
      for (const owner of distinct) add(owner, amount)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        total -= amount
        for (const owner of distinct) add(owner, -amount)
      }
    },
  }
}
