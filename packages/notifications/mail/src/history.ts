import { type Database, removeInBatches, rowsAtATime, sql } from '@sluice/database'

/**
 * Removes mails that are older than `days` and were sent or failed permanently (second-day.md §6, History), a few at a
 * time. Returns their number. Ends early if the process shuts down.
 */
export async function removeOldMails(db: Database, days: number, shutdown: AbortSignal | undefined): Promise<number> {
  const statement = sql`
    delete from mails where (app_id, mail_id) in (
      select app_id, mail_id from mails
      where state <> 'waiting' and created_at < now() - make_interval(days => ${days})
      order by created_at limit ${rowsAtATime} for update skip locked
    )
  `
  return await removeInBatches(db, statement, shutdown)
}
