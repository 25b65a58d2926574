/** A transaction that has written, and so holds locks that others wait for, as one look at Postgres shows it. */
export interface WritingTransaction {
  xid: string
  /** Since it began, ms: mostly it has waited for its turn before it wrote. */
  age: number
  /** Its statement and what it waits for. */
  doing: string
}

/** The longest times of writing transactions. */
export interface LongestTransactions {
  /** How long one held locks that others wait for, ms: at most, as it ends between two looks. */
  locked: number
  /** What that one was doing when it was seen last. */
  doing: string
  /** The oldest age of one, its wait for its turn included, ms. */
  age: number
}

/**
 * Puts looks at writing transactions together. A transaction has its ID from its first write on: it has locks of rows since
 * the look before the one that sees it first, at the earliest, and until the look that does not see it any more, at the
 * latest.
 */
export class TransactionWatch {
  readonly longest: LongestTransactions = { locked: 0, doing: '', age: 0 }
  #open = new Map<string, { since: number; doing: string }>()
  #lookedAt: number

  /** Takes the moment from which it watches, ms, by the clock of the looks. */
  constructor(from: number) {
    this.#lookedAt = from
  }

  /** Takes what one look saw, all of them, and when, ms. */
  look(at: number, transactions: readonly WritingTransaction[]): void {
    const open = new Map<string, { since: number; doing: string }>()
    for (const { xid, age, doing } of transactions) {
      this.longest.age = Math.max(this.longest.age, age)
      open.set(xid, { since: this.#open.get(xid)?.since ?? this.#lookedAt, doing })
    }
    for (const [xid, ended] of this.#open) {
      const locked = at - ended.since
      if (!open.has(xid) && locked > this.longest.locked) Object.assign(this.longest, { locked, doing: ended.doing })
    }
    this.#open = open
    this.#lookedAt = at
  }
}
