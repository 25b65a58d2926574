import { type Database, isDue, sql } from '@sluice/database'
import type { Content } from './content.ts'

/** A mail that is due. */
export interface MailId {
  appId: number
  mailId: string
}

/**
 * Puts a mail to every member of the app who gets its mails into the outbox, in the transaction of the event that it tells of: the event
 * and its mail happen together or not at all.
 *
 * Takes the event's name, such as `import:<id>`: a second mail of the same event is not added. Gives the new mails.
 */
export async function enqueueMails(tx: Database, appId: number, event: string, content: Content): Promise<MailId[]> {
  const members = await tx
    .selectFrom('members')
    .select('email')
    .where('app_id', '=', appId)
    .where('gets_mails', '=', true)
    .execute()
  if (members.length === 0) return []
  const rows = await tx
    .insertInto('mails')
    .values(members.map(({ email }) => ({ app_id: appId, event, recipient: email, ...content })))
    .onConflict((conflict) => conflict.columns(['app_id', 'event', 'recipient']).doNothing())
    .returning('mail_id')
    .execute()
  return rows.map((row) => ({ appId, mailId: row.mail_id }))
}

/** Counts the mails that wait, and how long the one that is due the longest has been due, seconds; 0 where none is. */
export async function mailBacklog(db: Database): Promise<{ waiting: number; overdue: number }> {
  const { rows } = await sql<{ waiting: number; overdue: number }>`
    select count(*) as waiting,
      greatest(coalesce(extract(epoch from now() - min(next_attempt_at)), 0), 0)::float8 as overdue
    from mails where state = 'waiting'
  `.execute(db)
  return rows[0] ?? { waiting: 0, overdue: 0 }
}

/** Longest pause before another attempt, seconds. */
export const longestRetrySeconds = 4500

/** The time of the next attempt has come; a mail that is being sent has its next attempt after its lease. */
export const isAttemptDue = isDue(sql`next_attempt_at`, longestRetrySeconds * 1000)

/** Gives at most `limit` mails whose time has come, oldest first. */
export async function dueMails(db: Database, limit: number): Promise<MailId[]> {
  const rows = await db
    .selectFrom('mails')
    .select(['app_id', 'mail_id'])
    .where('state', '=', 'waiting')
    .where(isAttemptDue)
    .orderBy('next_attempt_at')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ appId: row.app_id, mailId: row.mail_id }))
}
