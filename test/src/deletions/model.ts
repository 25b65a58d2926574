/** The state of one app under deletions, in memory and written for clarity alone: the oracle of the simulated year. */
export class AppModel {
  /** Registered users with the value of the app's only key; undefined for users without a value. */
  readonly users = new Map<string, number | undefined>()
  readonly requests: ModelRequest[] = []
  /** Completion dates of deletions about which a mail was sent. */
  readonly mailed = new Set<string>()
  /** Imports that have ended and whose files are in storage. */
  storedImports = 0
  /** Imports that were sent and have not run yet, in request order. */
  readonly waiting: ModelImport[] = []

  register(userIds: readonly string[]): void {
    for (const user of userIds) if (!this.users.has(user)) this.users.set(user, undefined)
  }

  write(userIds: readonly string[], value: number): void {
    for (const user of userIds) if (this.users.has(user)) this.users.set(user, value)
  }

  /** Accepts a file with a value for each of these users. */
  send(userIds: readonly string[], value: number): void {
    this.waiting.push({ users: userIds, value, deleted: new Set() })
  }

  /** Runs the next import. Returns how many rows count as applied. Rows of users who were deleted since count too. */
  runNext(): number {
    const next = this.waiting.shift()
    if (next === undefined) return 0
    const left = next.users.filter((user) => !next.deleted.has(user))
    this.write(left, next.value)
    this.storedImports += 1
    return next.users.length - left.filter((user) => !this.users.has(user)).length
  }

  request(userIds: readonly string[], at: Date): void {
    const startsAt = new Date(at.getTime() + 6 * 24 * 3_600_000)
    const completesAt = new Date(Date.UTC(startsAt.getUTCFullYear(), startsAt.getUTCMonth() + 1, 7))
    this.requests.push({ pending: new Set(userIds), startsAt, completesAt, state: 'accepted' })
  }

  /** Applies what maintenance does at `now`. */
  maintenance(now: Date): void {
    for (const request of this.requests) {
      if (request.state === 'accepted' && request.startsAt <= now) request.state = 'started'
    }
    const dueUsers = new Set(
      this.requests.filter(({ completesAt }) => completesAt <= now).flatMap(({ pending }) => [...pending]),
    )
    const isDue = this.requests.some(({ completesAt, state }) => completesAt <= now && state !== 'completed')
    if (isDue) this.storedImports = 0
    for (const user of dueUsers) {
      const naming = this.requests.filter(({ pending }) => pending.has(user))
      const earliest = Math.min(...naming.map(({ completesAt }) => completesAt.getTime()))
      this.mailed.add(new Date(earliest).toISOString())
      this.users.delete(user)
      for (const { deleted } of this.waiting) deleted.add(user)
      for (const { pending } of naming) pending.delete(user)
    }
    for (const request of this.requests) if (request.pending.size === 0) request.state = 'completed'
  }

  /** Returns the registered users whose deletion has not started. */
  targets(): string[] {
    const started = this.requests.filter(({ state }) => state === 'started').flatMap(({ pending }) => [...pending])
    return [...this.users.keys()].filter((user) => !started.includes(user)).toSorted()
  }
}

interface ModelImport {
  users: readonly string[]
  value: number
  /** Users who were deleted since the file was sent. */
  deleted: Set<string>
}

interface ModelRequest {
  /** Users whose deletion is still to come. */
  pending: Set<string>
  startsAt: Date
  completesAt: Date
  state: 'accepted' | 'started' | 'completed'
}
