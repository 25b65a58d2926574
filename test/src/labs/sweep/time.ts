import { sql } from '@sluice/database'
import type { SweepSystem } from './system.ts'

/**
 * Makes due what only waits for time to pass: the next try of an import, and the next attempt of a mail. While a
 * process is busy, it may be sending a mail, so mails are left alone.
 */
export async function letTimePass({ db }: SweepSystem, isBusy: boolean): Promise<void> {
  await sql`update imports set retry_at = now() where state = 'queued' and retry_at > now()`.execute(db)
  if (isBusy) return
  await sql`update mails set next_attempt_at = now() where state = 'waiting' and next_attempt_at > now()`.execute(db)
}
