/** A transaction that has written, and so holds locks that others wait for, as one poll of Postgres shows it. */
export interface WritingTransaction {
  xid: string
  /**
   * Time since the transaction began, ms. Includes the wait for the preceding batch, because a transaction waits before
   * its first write.
   */
  ageMs: number
  /** Its statement and its wait event. */
  activity: string
}

export interface LongestTransactions {
  /**
   * How long a transaction held locks that others wait for, ms. An upper bound: the transaction ends between two polls.
   */
  lockedMs: number
  /** The last observed activity of this transaction. */
  activity: string
  /** The highest age of a transaction, including its wait for the preceding batch, ms. */
  ageMs: number
}

/**
 * Combines polls of writing transactions. A transaction has an ID from its first write on. Its locks began after the
 * last poll that did not show the transaction yet. They ended before the first poll that no longer shows it.
 */
export class TransactionWatch {
  readonly longest: LongestTransactions = { lockedMs: 0, activity: '', ageMs: 0 }
  #open = new Map<string, { since: number; activity: string }>()
  #polledAt: number

  /** `from` is the time of the watch's start, ms, by the clock of the polls. */
  constructor(from: number) {
    this.#polledAt = from
  }

  /** Adds all transactions of one poll at time `at`, ms. */
  add(at: number, transactions: readonly WritingTransaction[]): void {
    const open = new Map<string, { since: number; activity: string }>()
    for (const { xid, ageMs, activity } of transactions) {
      this.longest.ageMs = Math.max(this.longest.ageMs, ageMs)
      open.set(xid, { since: this.#open.get(xid)?.since ?? this.#polledAt, activity })
    }
    for (const [xid, ended] of this.#open) {
      const lockedMs = at - ended.since
      if (!open.has(xid) && lockedMs > this.longest.lockedMs)
        Object.assign(this.longest, { lockedMs, activity: ended.activity })
    }
    this.#open = open
    this.#polledAt = at
  }
}
