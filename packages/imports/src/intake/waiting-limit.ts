import { type Database, sql } from '@sluice/database'

/** The app has as many imports waiting as it may have. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
  readonly limit: number
  /** When the app may try again, s: nobody knows when its next import ends. */
  readonly retryAfter = 60

  constructor(limit: number) {
    super(`${limit} imports of this app wait already`)
    this.limit = limit
  }
}

/** First key of the lock, so that it is nobody else's: "wait" in ASCII. */
const lockSpace = 0x77616974

/**
 * Runs the transaction that begins an import, if fewer than `limit` imports of the app wait for their upload or to be run. A
 * file on its way to the bucket counts as well. Transactions of one app run one after the other, so that no two take the last place.
 *
 * Throws {@link TooManyWaiting}.
 */
export async function withinWaitingLimit<Result>(
  db: Database,
  appId: number,
  limit: number,
  begin: (tx: Database) => Promise<Result>,
): Promise<Result> {
  return await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${lockSpace}::integer, ${appId}::integer)`.execute(tx)
    // A statement of its own: it is to see what the preceding holder of the lock has committed.
    const { rows } = await sql<{ waiting: number }>`
      select count(*) as waiting from (
        (select from imports where app_id = ${appId} and state in ('awaiting_upload', 'queued') limit ${limit})
        union all
        (select from bucket_uploads where app_id = ${appId} limit ${limit})
      ) waiting
    `.execute(tx)
    if ((rows[0]?.waiting ?? 0) >= limit) throw new TooManyWaiting(limit)
    return await begin(tx)
  })
}
