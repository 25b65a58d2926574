import { type Database, dueAttempts, isDue, prepared, type RawBuilder, sql } from '@sluice/database'
import type { Content } from './content.ts'

/** The key of a mail in the outbox. */
export interface MailId {
  appId: number
  mailId: string
}

/**
 * Adds a mail about an event to the outbox, for every member who gets the app's mails (design.md §4, Mails). `tx` is
 * the transaction of the event, so that the event and its mails are committed together or not at all. One statement
 * serves any number of members.
 *
 * `event` names the event, such as `import:<id>`: a second mail about the same event is not added. Returns the new
 * mails.
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

/** Condition on `mail_counts`: the hour in which an app's mails are counted is over. */
export const isHourOver = isDue(sql`(mail_counts.began_at + interval '1 hour')`, 60 * 60_000)

/** Builds the condition that an app has sent as many mails as it may send in an hour. `appId` is an SQL expression. */
const isHourFull = (appId: RawBuilder<unknown>) => sql`exists (
  select from mail_counts where mail_counts.app_id = ${appId} and mail_counts.mails >= most and not ${isHourOver}
)`

/**
 * Returns the number of waiting mails, and for how many seconds the most overdue mail has been due (0 if no mail is
 * due). Mails that wait for their app's next hour become due with it.
 */
export async function mailBacklog(db: Database): Promise<{ waiting: number; overdue: number }> {
  const { rows } = await sql<{ waiting: number; overdue: number }>`
    select count(*) as waiting,
      greatest(extract(epoch from now() - min(
        greatest(next_attempt_at, counts.began_at + interval '1 hour')
      )), 0)::float8 as overdue
    from mails left join mail_counts counts
      on counts.app_id = mails.app_id and counts.mails >= counts.most and counts.began_at <= now()
    where state = 'waiting'
  `.execute(db)
  return rows[0] ?? { waiting: 0, overdue: 0 }
}

/** The state of the outbox. */
export interface MailOverview {
  /** Mails that are being retried or were not tried yet. */
  waiting: number
  /** When the oldest waiting mail was written, without mails that wait for their app's next hour. */
  waitingSince: Date | undefined
  /** Mails that failed for good within the last 24 hours. */
  failed: number
}

/** Returns the state of the outbox of all apps. */
export async function mailOverview(db: Database): Promise<MailOverview> {
  const { rows } = await sql<{ waiting: number; waiting_since: Date | null; failed: number }>`
    select
      (select count(*) from mails where state = 'waiting') as waiting,
      (select min(created_at) from mails where state = 'waiting' and not ${isHourFull(sql`mails.app_id`)}) as waiting_since,
      (select count(*) from mails where state = 'failed' and failed_at > now() - interval '24 hours') as failed
  `.execute(db)
  const [row] = rows
  return { waiting: row?.waiting ?? 0, waitingSince: row?.waiting_since ?? undefined, failed: row?.failed ?? 0 }
}

/** The longest pause before another attempt, seconds. */
export const longestRetrySeconds = 4500

const attempt = dueAttempts(longestRetrySeconds)

/**
 * Condition on `mails`: the next attempt is due. While a mail is being sent, its next attempt is after the end of the
 * lease.
 */
export const isAttemptDue = attempt.isDue

/**
 * Maximum number of mails of one app that enter the queue at a time. The queue is first in, first out. This limit keeps
 * a mail from waiting for the whole backlog of another app.
 */
const mailsAtATime = 10

/**
 * Selects the due mails of an app, oldest first. Selects none if the app has used up its mails of this hour. `appId` is
 * an SQL expression.
 */
function nextOf(appId: RawBuilder<unknown>): RawBuilder<unknown> {
  const some = (condition: RawBuilder<unknown>) => sql`(
    select app_id, mail_id, next_attempt_at from mails
    where app_id = ${appId} and state = 'waiting' and ${condition}
    order by next_attempt_at limit ${mailsAtATime}
  )`
  // Each half reads its own end of the index, and skips the mails in between, which wait for another attempt.
  return sql`
    select app_id, mail_id, next_attempt_at, row_number() over (order by next_attempt_at) as place
    from (${some(attempt.isPast)} union all ${some(attempt.isTooFarAhead)}) each
    where not ${isHourFull(appId)}
    order by next_attempt_at limit ${mailsAtATime}
  `
}

/**
 * Returns at most `limit` due mails, and at most {@link mailsAtATime} of one app. The order is round-robin: the first
 * mail of each app, then the second of each. The cost depends on the number of apps with mails, not on the number of
 * mails.
 */
export async function dueMails(db: Database, limit: number): Promise<MailId[]> {
  const { rows } = await prepared<{ app_id: number; mail_id: string }>`
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

/** Returns the due mails of one app, oldest first, at most {@link mailsAtATime}. */
export async function nextMails(db: Database, appId: number): Promise<MailId[]> {
  const { rows } = await sql<{ mail_id: string }>`select mail_id from (${nextOf(sql`${appId}::integer`)}) next`.execute(
    db,
  )
  return rows.map((row) => ({ appId, mailId: row.mail_id }))
}
