import { type Database, isDue, isFarAhead, type RawBuilder, sql } from '@sluice/database'
import type { Content } from './content.ts'

/** A mail that is due. */
export interface MailId {
  appId: number
  mailId: string
}

/**
 * Puts a mail to every member of the app who gets its mails into the outbox, in the transaction of the event that it tells of: the event
 * and its mail happen together or not at all. One statement, however many members there are.
 *
 * Takes the event's name, such as `import:<id>`: a second mail of the same event is not added. Gives the new mails.
 */
export async function enqueueMails(tx: Database, appId: number, event: string, content: Content): Promise<MailId[]> {
  const { rows } = await sql<{ mail_id: string }>`
    insert into mails (app_id, event, recipient, subject, text, html)
    select app_id, ${event}::text, email, ${content.subject}::text, ${content.text}::text, ${content.html}::text
    from members where app_id = ${appId} and gets_mails
    on conflict (app_id, event, recipient) do nothing
    returning mail_id
  `.execute(tx)
  return rows.map((row) => ({ appId, mailId: row.mail_id }))
}

/** The hour in which an app's mails are counted is over. A condition on `mail_counts`. */
export const isHourOver = isDue(sql`(mail_counts.began_at + interval '1 hour')`, 60 * 60_000)

/** The app of `mails` has sent as many as it may in an hour. */
const isHourFull = sql`exists (
  select from mail_counts where mail_counts.app_id = mails.app_id and mail_counts.mails >= most and not ${isHourOver}
)`

/**
 * Counts the mails that wait, and how long the one that is due the longest has been due, seconds; 0 where none is. Mails that
 * wait for their app's next hour are not due.
 */
export async function mailBacklog(db: Database): Promise<{ waiting: number; overdue: number }> {
  const { rows } = await sql<{ waiting: number; overdue: number }>`
    select count(*) as waiting,
      greatest(coalesce(extract(epoch from now() - min(next_attempt_at) filter (where not ${isHourFull})), 0), 0)::float8 as overdue
    from mails where state = 'waiting'
  `.execute(db)
  return rows[0] ?? { waiting: 0, overdue: 0 }
}

/** Longest pause before another attempt, seconds. */
export const longestRetrySeconds = 4500

/** The two halves of {@link isAttemptDue}. */
const isPast = sql`next_attempt_at <= now()`
const isTooFarAhead = isFarAhead(sql`next_attempt_at`, longestRetrySeconds * 1000)

/** The time of the next attempt has come; a mail that is being sent has its next attempt after its lease. */
export const isAttemptDue = isDue(sql`next_attempt_at`, longestRetrySeconds * 1000)

/**
 * Most mails of one app that are handed to the queue at a time. The queue is first in, first out: a mail waits behind so many
 * of each other app, and not behind a backlog.
 */
const mailsAtATime = 10

/** The next mails of the app `appId`, an expression: those whose time has come, oldest first, none where its hour is full. */
function nextOf(appId: RawBuilder<unknown>): RawBuilder<unknown> {
  const some = (condition: RawBuilder<unknown>) => sql`(
    select app_id, mail_id, next_attempt_at from mails
    where app_id = ${appId} and state = 'waiting' and ${condition}
    order by next_attempt_at limit ${mailsAtATime}
  )`
  // Each half reads its own end of the index: what was tried before and waits is not gone through.
  return sql`
    select app_id, mail_id, next_attempt_at, row_number() over (order by next_attempt_at) as place
    from (${some(isPast)} union all ${some(isTooFarAhead)}) each
    where not exists (
      select from mail_counts where mail_counts.app_id = ${appId} and mail_counts.mails >= most and not ${isHourOver}
    )
    order by next_attempt_at limit ${mailsAtATime}
  `
}

/**
 * Returns at most `limit` mails whose time has come, in turn by app: first one of each app, then the second of each, at most
 * {@link mailsAtATime} of one. What it costs depends on the number of apps that have mails, not on how many they have.
 */
export async function dueMails(db: Database, limit: number): Promise<MailId[]> {
  const { rows } = await sql<{ app_id: number; mail_id: string }>`
    with recursive waiting as (
      (select app_id from mails where state = 'waiting' order by app_id limit 1)
      union all
      select (select app_id from mails where state = 'waiting' and app_id > waiting.app_id order by app_id limit 1)
      from waiting where app_id is not null
    )
    select next.app_id, next.mail_id from waiting cross join lateral (${nextOf(sql`waiting.app_id`)}) next
    order by place, next_attempt_at limit ${limit}
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, mailId: row.mail_id }))
}

/** Returns the next mails of one app whose time has come. */
export async function nextMails(db: Database, appId: number): Promise<MailId[]> {
  const { rows } = await sql<{ mail_id: string }>`select mail_id from (${nextOf(sql`${appId}::integer`)}) next`.execute(
    db,
  )
  return rows.map((row) => ({ appId, mailId: row.mail_id }))
}
