import type { Settings } from '@sluice/config'
import { type Database, retryPause, retryPauseAfterDeath, sql, untilAnswered } from '@sluice/database'
import { isAttemptDue, isHourOver, longestRetrySeconds, type MailId } from './outbox.ts'
import { mailSettings, openTransport } from './transport.ts'

/** The settings that {@link openMailer} needs. */
export const mailerSettings = [...mailSettings, 'MAILS_PER_HOUR'] as const

export interface Mailer {
  /**
   * Sends one mail of the outbox, if it is due. Every attempt uses the same Message-ID, so that mail servers can
   * recognize a mail whose acknowledgement was lost. After a permanent refusal (5xx) the mail has failed. After any
   * other error it is tried again, for five days and at least {@link leastTries} times.
   */
  send(mail: MailId): Promise<SendOutcome>
  close(): void
}

export type SendOutcome =
  | { outcome: 'sent' }
  | { outcome: 'not due' }
  | { outcome: 'postponed' | 'failed'; error: string; attempt: number }

/** For how long no other process may claim a mail that is being sent. */
const leaseMs = 120_000

/**
 * The longest dialogue with the mail server about one mail. Each single answer may come late, but the dialogue must end
 * before another process may claim the mail.
 */
const longestDialogueMs = 90_000

/** After so many days without success, a mail has failed. Most outages of mail servers last hours. */
const longestWaitDays = 5

/**
 * A mail fails only after so many tries, which take two hours. Otherwise a mail that waited for its app's hour, or
 * while no process ran, would fail at the first error.
 */
const leastTries = 12

/**
 * Opens the sending side of the outbox (design.md §4, Mails). If `dashboardUrl` is set, each mail to a member has a
 * link that ends the app's mails to this member. Tests shorten the longest dialogue.
 */
export function openMailer(
  db: Database,
  settings: Settings<(typeof mailerSettings)[number]>,
  options: { longestDialogueMs?: number; dashboardUrl?: string | undefined } = {},
): Mailer {
  const transport = openTransport(settings)
  const limitMs = options.longestDialogueMs ?? longestDialogueMs

  return {
    async send(id) {
      // Both limits start before the claim, because the lease starts in Postgres and the answer to the claim may be
      // late.
      const deadline = AbortSignal.timeout(limitMs)
      const leaseEnd = AbortSignal.timeout(leaseMs)
      const overdue = await failOverdue(db, id)
      if (overdue !== undefined) return { outcome: 'failed', error: overdue.last_error, attempt: overdue.attempt }
      const mail = await claim(db, id, settings.MAILS_PER_HOUR)
      if (mail === undefined) return { outcome: 'not due' }
      try {
        const unsubscribeUrl = unsubscribeUrlOf(options.dashboardUrl, id.appId, mail)
        await transport.deliver({ ...mail, id: mail.mail_id, unsubscribeUrl }, deadline)
      } catch (error) {
        const tooLong = new Error(`the mail server took longer than ${limitMs / 1000} s in all`)
        return await postpone(db, id, mail, deadline.aborted ? tooLong : error)
      }
      const sent = attempt(db, id, mail.attempt).set({ state: 'sent', sent_at: sql<Date>`now()`, last_error: null })
      // Without the record, the mail would be sent again.
      await untilAnswered(() => sent.execute(), leaseEnd)
      return { outcome: 'sent' }
    },
    close: () => transport.close(),
  }
}

interface ClaimedMail {
  mail_id: string
  recipient: string
  subject: string
  text: string
  html: string
  attempt: number
  /** The beginning of the hour in which the mail was counted, as Postgres writes it. */
  hour: string
  /** The recipient's key for ending mails. */
  unsubscribe_key: string
}

function unsubscribeUrlOf(
  dashboardUrl: string | undefined,
  appId: number,
  { unsubscribe_key: key }: ClaimedMail,
): string | undefined {
  return dashboardUrl === undefined ? undefined : `${dashboardUrl}/unsubscribe/${appId}/${key}`
}

/** Seconds until the next attempt if this one ends with its process: the lease, or longer after further attempts. */
const afterDeathSeconds = retryPauseAfterDeath(sql`attempt`, { leaseMs, longest: longestRetrySeconds })

/** Condition on `mails`: the recipient is a member of the app and gets its mails. */
const isWanted = sql`exists (
  select from members where members.app_id = mails.app_id and members.email = mails.recipient and gets_mails
)`

/**
 * Marks a due mail as failed if its time ended during an attempt whose process died, or while no process ran. Returns
 * the failed mail's last error and number of attempts.
 */
async function failOverdue(db: Database, id: MailId): Promise<{ last_error: string; attempt: number } | undefined> {
  return await update(db, id)
    .set({
      state: 'failed',
      failed_at: sql<Date>`now()`,
      last_error: sql<string>`coalesce(last_error, 'the process that sent the mail ended during each attempt')`,
    })
    .where('state', '=', 'waiting')
    .where('attempt', '>=', leastTries)
    .where(isAttemptDue)
    .where(sql<boolean>`created_at < now() - make_interval(days => ${longestWaitDays}, hours => 2)`)
    .returning([sql<string>`last_error`.as('last_error'), 'attempt'])
    .executeTakeFirst()
}

/**
 * Claims a mail for one attempt, and counts it in its app's hour. Returns undefined if the mail is not due, or if the
 * app has sent `mailsPerHour` mails in this hour. If the process dies during the attempt, the mail is due again when
 * the lease ends. Drops the mail if its recipient was removed or has ended the mails since the event.
 */
async function claim(db: Database, { appId, mailId }: MailId, mailsPerHour: number): Promise<ClaimedMail | undefined> {
  const { rows } = await sql<ClaimedMail>`
    with dropped as (
      delete from mails
      where app_id = ${appId} and mail_id = ${mailId} and state = 'waiting' and ${isAttemptDue} and not ${isWanted}
    ), due as (
      select app_id from mails
      where app_id = ${appId} and mail_id = ${mailId} and state = 'waiting' and ${isAttemptDue} and ${isWanted}
      for update
    ), counted as (
      insert into mail_counts (app_id, began_at, mails, most) select app_id, now(), 1, ${mailsPerHour}::integer from due
      on conflict (app_id) do update set
        began_at = case when ${isHourOver} then excluded.began_at else mail_counts.began_at end,
        mails = case when ${isHourOver} then 1 else mail_counts.mails + 1 end,
        most = excluded.most
      where ${isHourOver} or mail_counts.mails < excluded.most
      returning app_id, began_at
    )
    update mails
    set attempt = attempt + 1, next_attempt_at = now() + make_interval(secs => ${afterDeathSeconds})
    from counted where mails.app_id = ${appId} and mails.mail_id = ${mailId}
    returning mail_id, recipient, subject, text, html, attempt, counted.began_at::text as hour, (
      select unsubscribe_key from members where members.app_id = ${appId} and members.email = mails.recipient
    ) as unsubscribe_key
  `.execute(db)
  return rows[0]
}

async function postpone(
  db: Database,
  id: MailId,
  { attempt: attempts, hour }: ClaimedMail,
  cause: unknown,
): Promise<SendOutcome> {
  const error = cause instanceof Error ? cause.message : String(cause)
  const isTriedOut = sql`attempt >= ${leastTries} and created_at < now() - make_interval(days => ${longestWaitDays})`
  const isFinal = sql`(${isRefusal(cause)}::boolean or ${isTriedOut})`
  const postponed = await attempt(db, id, attempts)
    .set({
      state: sql<'failed' | 'waiting'>`case when ${isFinal} then 'failed' else 'waiting' end`,
      failed_at: sql<Date | null>`case when ${isFinal} then now() end`,
      last_error: error.replaceAll('\0', ''),
      next_attempt_at: sql<Date>`now() + make_interval(secs => ${retryPause(attempts, longestRetrySeconds)})`,
    })
    .returning('state')
    .executeTakeFirst()
  if (postponed?.state === 'waiting') await uncount(db, id.appId, hour)
  return { outcome: postponed?.state === 'failed' ? 'failed' : 'postponed', error, attempt: attempts }
}

/**
 * Removes a postponed mail from its app's count: an outage of the mail server must not use up the app's limit. Does
 * nothing if another hour has begun since, which never counted the mail.
 */
async function uncount(db: Database, appId: number, hour: string): Promise<void> {
  await db
    .updateTable('mail_counts')
    .set({ mails: sql<number>`mails - 1` })
    .where('app_id', '=', appId)
    .where('began_at', '=', sql<Date>`${hour}::timestamptz`)
    .execute()
}

function update(db: Database, { appId, mailId }: MailId) {
  return db.updateTable('mails').where('app_id', '=', appId).where('mail_id', '=', mailId)
}

/** Updates a mail only during its attempt `number`: a slow process must not overwrite the result of a later attempt. */
function attempt(db: Database, id: MailId, number: number) {
  return update(db, id).where('state', '=', 'waiting').where('attempt', '=', number)
}

/**
 * Whether the mail server refused this mail permanently: it answered the recipient or the message with 5xx. A 5xx to an
 * earlier command, during a change of the password for example, concerns this client and may be temporary.
 */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || !('responseCode' in error) || !('command' in error)) return false
  return Number(error.responseCode) >= 500 && (error.command === 'RCPT TO' || error.command === 'DATA')
}
