import { acquireLock, type Database, sql } from '@sluice/database'
import { oneAfterAnother } from '@sluice/joined-calls'

/** The app has reached its limit of waiting imports. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
  /** Seconds until the app may try again. A fixed figure, since nobody knows when the app's next import ends. */
  readonly retryAfter = 60

  /** The import for which the others wait, because it is held; null if none is. */
  readonly heldId: string | null

  constructor(limit: number, heldId: string | null) {
    const held = heldId === null ? '' : `. The import ${heldId} is held: approve or cancel it`
    super(`${limit} imports of this app wait already${held}`)
    this.heldId = heldId
  }
}

const beginInOrder = oneAfterAnother()

/**
 * Runs the transaction that begins an import, if fewer than `limit` imports of the app wait for their upload or for a
 * worker (design.md §3, Waiting imports), or are held (changes.md §2, Held). An upload to the bucket that is in flight
 * counts as well. A lock makes transactions of one app run one after another, so that no two of them take the last
 * place. The transactions wait for each other in this process first: if they all waited in Postgres, one app could hold
 * all connections of the pool.
 *
 * Throws {@link TooManyWaiting} if the limit is reached.
 */
export async function withinWaitingLimit<Result>(
  db: Database,
  appId: number,
  limit: number,
  begin: (tx: Database) => Promise<Result>,
): Promise<Result> {
  return await beginInOrder(appId, () =>
    db.transaction().execute(async (tx) => {
      await acquireLock(tx, 'waitingImportsOfApp', appId)
      // Separate from the statement that locks, so that it sees what the preceding holder of the lock has committed.
      const { rows } = await sql<{ waiting: number; held_id: string | null }>`
      select count(*) as waiting, (
        select import_id from imports where app_id = ${appId} and state = 'held' limit 1
      ) as held_id from (
        (select from imports where app_id = ${appId} and state in ('awaiting_upload', 'queued', 'held') limit ${limit})
        union all
        (select from bucket_uploads where app_id = ${appId} limit ${limit})
      ) waiting
    `.execute(tx)
      const [found] = rows
      if (found !== undefined && found.waiting >= limit) throw new TooManyWaiting(limit, found.held_id)
      return await begin(tx)
    }),
  )
}
