import type { Settings } from '@sluice/config'
import { type Database, sql } from '@sluice/database'
import { isAttemptDue, isHourOver, longestRetrySeconds, type MailId } from './outbox.ts'
import { mailSettings, openTransport } from './transport.ts'

/** The settings that {@link openMailer} needs. */
export const mailerSettings = [...mailSettings, 'MAILS_PER_HOUR'] as const

export interface Mailer {
  /**
   * Sends one mail of the outbox, if it is due. The Message-ID is the same at every attempt, so that a mail whose
   * acknowledgement was lost can be told from a new one. A refusal for good (5xx) ends it; anything else is tried again, for
   * five days.
   */
  send(mail: MailId): Promise<SendOutcome>
  close(): void
}

export type SendOutcome =
  | { outcome: 'sent' }
  | { outcome: 'not due' }
  | { outcome: 'postponed' | 'failed'; error: string; attempt: number }

/** Nobody else takes a mail while one process talks to the mail server, ms. */
const lease = 120_000

/**
 * The dialogue with the mail server about one mail takes no longer than this in all, ms: each answer may come late, but the
 * dialogue must end before another process may take the mail.
 */
const longestDialogue = 90_000

/** A mail that could not be sent for so long has failed, days: mail servers are away for hours, and come back. */
const longestWaitDays = 5

/** Opens the sending side of the outbox. A dialogue may take 90 s in all if `options` say nothing else (ms). */
export function openMailer(
  db: Database,
  settings: Settings<(typeof mailerSettings)[number]>,
  options: { longestDialogue?: number } = {},
): Mailer {
  const transport = openTransport(settings)
  const limit = options.longestDialogue ?? longestDialogue

  return {
    async send(id) {
      // Before the claim: its answer may be late, and the lease runs from then on.
      const deadline = AbortSignal.timeout(limit)
      const mail = await claim(db, id, settings.MAILS_PER_HOUR)
      if (mail === undefined) return { outcome: 'not due' }
      try {
        await transport.deliver({ ...mail, id: mail.mail_id }, deadline)
      } catch (error) {
        const tooLong = new Error(`the mail server took longer than ${limit / 1000} s in all`)
        return await postpone(db, id, mail.attempt, deadline.aborted ? tooLong : error)
      }
      await attempt(db, id, mail.attempt).set({ state: 'sent', sent_at: sql<Date>`now()`, last_error: null }).execute()
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
}

/**
 * Claims the mail for one attempt, and counts it in its app's hour. Past `mailsPerHour` it is left for the next hour. A process that
 * dies in the attempt leaves the mail to be due again when the lease ends.
 */
async function claim(db: Database, { appId, mailId }: MailId, mailsPerHour: number): Promise<ClaimedMail | undefined> {
  const { rows } = await sql<ClaimedMail>`
    with due as (
      select app_id from mails
      where app_id = ${appId} and mail_id = ${mailId} and state = 'waiting' and ${isAttemptDue}
      for update
    ), counted as (
      insert into mail_counts (app_id, began_at, mails, most) select app_id, now(), 1, ${mailsPerHour}::integer from due
      on conflict (app_id) do update set
        began_at = case when ${isHourOver} then excluded.began_at else mail_counts.began_at end,
        mails = case when ${isHourOver} then 1 else mail_counts.mails + 1 end,
        most = excluded.most
      where ${isHourOver} or mail_counts.mails < excluded.most
      returning app_id
    )
    update mails
    set attempt = attempt + 1, next_attempt_at = now() + make_interval(secs => ${lease / 1000})
    from counted where mails.app_id = ${appId} and mails.mail_id = ${mailId}
    returning mail_id, recipient, subject, text, html, attempt
  `.execute(db)
  return rows[0]
}

async function postpone(db: Database, id: MailId, attempts: number, cause: unknown): Promise<SendOutcome> {
  const error = cause instanceof Error ? cause.message : String(cause)
  const postponed = await attempt(db, id, attempts)
    .set({
      state: sql<'failed' | 'waiting'>`case
        when ${isRefusal(cause)}::boolean or created_at < now() - make_interval(days => ${longestWaitDays}) then 'failed'
        else 'waiting' end`,
      last_error: error.replaceAll('\0', ''),
      next_attempt_at: sql<Date>`now() + make_interval(secs => ${retryDelaySeconds(attempts)})`,
    })
    .returning('state')
    .executeTakeFirst()
  if (postponed?.state === 'waiting') await uncount(db, id.appId)
  return { outcome: postponed?.state === 'failed' ? 'failed' : 'postponed', error, attempt: attempts }
}

/** A mail that the mail server did not take counts when it is sent: an outage uses up nobody's hour. */
async function uncount(db: Database, appId: number): Promise<void> {
  await db
    .updateTable('mail_counts')
    .set({ mails: sql<number>`mails - 1` })
    .where('app_id', '=', appId)
    .where('mails', '>', 0)
    .execute()
}

function update(db: Database, { appId, mailId }: MailId) {
  return db.updateTable('mails').where('app_id', '=', appId).where('mail_id', '=', mailId)
}

/** The mail, as long as nobody else has taken it for a later attempt: a slow process must not undo what that one did. */
function attempt(db: Database, id: MailId, number: number) {
  return update(db, id).where('state', '=', 'waiting').where('attempt', '=', number)
}

/**
 * The mail server refused this mail for good: its answer to the recipient or the message begins with 5. Such an answer to
 * anything before that, a password that is being changed for one, is about us, and may pass.
 */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || !('responseCode' in error) || !('command' in error)) return false
  return Number(error.responseCode) >= 500 && (error.command === 'RCPT TO' || error.command === 'DATA')
}

/** 5 s, 10 s, 20 s … an hour, with up to a quarter of jitter: never more than `longestRetrySeconds`. */
function retryDelaySeconds(attempt: number): number {
  return Math.min(5 * 2 ** (attempt - 1), longestRetrySeconds / 1.25) * (1 + Math.random() / 4)
}
