import { type Database, sql } from '@sluice/database'

/** Time from the end of a window to its removal, hours. */
const keptHours = 24

/** Maximum number of rows that one statement removes. */
const rowsAtATime = 10_000

/**
 * Removes windows in Postgres that ended a day ago. Their subjects may never send a request again, for example a
 * replaced token. Safe to run in several processes at once.
 *
 * Skips locked rows: another process is counting requests there, which begins a new window. Returns how many windows it
 * removed.
 */
export async function removeEndedWindows(db: Database): Promise<number> {
  let removed = 0
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      delete from rate_limits where key = any(array(
        select key from rate_limits
        where expire < extract(epoch from now() - make_interval(hours => ${keptHours})) * 1000
        limit ${rowsAtATime} for update skip locked
      ))
    `.execute(db)
    removed += Number(numAffectedRows)
    if (numAffectedRows < BigInt(rowsAtATime)) return removed
  }
}
