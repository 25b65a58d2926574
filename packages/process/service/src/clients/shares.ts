/** A limited amount of something in a process, such as bytes or places. No owner can hold all of it. */
export interface Shares {
  /**
   * Reserves an amount for one or more owners, such as an app and a person.
   *
   * Returns a function that releases the amount; further calls do nothing. Returns undefined if too little is left of
   * the whole or of an owner's share.
   */
  take(owners: readonly string[], amount?: number): (() => void) | undefined
}

/** Opens shares. `all` is the maximum of all owners together; default: no limit. `each` is the maximum of one owner. */
export function openShares({ all = Number.POSITIVE_INFINITY, each }: { all?: number; each: number }): Shares {
  const taken = new Map<string, number>()
  let total = 0

  const add = (owner: string, amount: number) => {
    const left = (taken.get(owner) ?? 0) + amount
    if (left > 0) taken.set(owner, left)
    else taken.delete(owner)
  }

  return {
    take(owners, amount = 1) {
      if (total + amount > all || owners.some((owner) => (taken.get(owner) ?? 0) + amount > each)) return undefined
      const distinct = [...new Set(owners)]
      total += amount
      for (const owner of distinct) add(owner, amount)
      let isTaken = true
      return () => {
        if (!isTaken) return
        isTaken = false
        total -= amount
        for (const owner of distinct) add(owner, -amount)
      }
    },
  }
}
