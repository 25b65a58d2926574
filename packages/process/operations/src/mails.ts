import { type Database, sql } from '@sluice/database'

/** The state of the outbox. */
export interface MailOverview {
  /** Mails that are being retried or were not tried yet. */
  waiting: number
  /** When the oldest waiting mail was written. */
  waitingSince: Date | undefined
  /** Mails that failed for good within the last 24 hours. */
  failed: number
}

/** Returns the state of the outbox of all apps. */
export async function mailOverview(db: Database): Promise<MailOverview> {
  const { rows } = await sql<{ waiting: number; waiting_since: Date | null; failed: number }>`
    select
      (select count(*) from mails where state = 'waiting') as waiting,
      (select min(created_at) from mails where state = 'waiting') as waiting_since,
      (select count(*) from mails where state = 'failed' and failed_at > now() - interval '24 hours') as failed
  `.execute(db)
  const [row] = rows
  return { waiting: row?.waiting ?? 0, waitingSince: row?.waiting_since ?? undefined, failed: row?.failed ?? 0 }
}
