import { type Database, sql } from '@sluice/database'

/** How the outbox does. */
export interface MailOverview {
  /** Mails that are tried again and again, or were not tried yet. */
  waiting: number
  /** When the oldest of them was written. */
  waitingSince: Date | undefined
  /** Those that were given up within the last 24 hours. */
  failed: number
}

/** Looks at the outbox of all apps. */
export async function mailOverview(db: Database): Promise<MailOverview> {
  const { rows } = await sql<{ waiting: number; waiting_since: Date | null; failed: number }>`
    select
      (select count(*) from mails where state = 'waiting') as waiting,
      (select min(created_at) from mails where state = 'waiting') as waiting_since,
      (select count(*) from mails where state = 'failed' and created_at > now() - interval '24 hours') as failed
  `.execute(db)
  const [row] = rows
  return { waiting: row?.waiting ?? 0, waitingSince: row?.waiting_since ?? undefined, failed: row?.failed ?? 0 }
}
