import { type Database, type RawBuilder, sql } from '@sluice/database'
import { namesFollow } from './quoted.ts'

/** What remains of a mail whose content is forgotten. */
const forgotten = 'A deletion of user data has completed since. The details of this mail were removed.'

/** Number of mails whose content one statement forgets. */
const mailsAtATime = 500

/**
 * Replaces the content of an app's mails, because a deletion completes: it may hold names of files, and values, of
 * deleted users. `isAffected` is an SQL condition on the mail `m`. A mail that waits is sent without its details, since
 * its link leads to a file that is removed as well. Throws when the process shuts down.
 */
export async function forgetMailContents(
  db: Database,
  appId: number,
  isAffected: RawBuilder<unknown>,
  shutdown: AbortSignal | undefined,
): Promise<void> {
  for (;;) {
    shutdown?.throwIfAborted()
    const { numAffectedRows } = await sql`
      update mails set subject = case when state = 'waiting' then split_part(subject, ${namesFollow}, 1) else '' end, text = ${forgotten}, html = ${forgotten}
      where app_id = ${appId} and mail_id in (
        select mail_id from mails m where m.app_id = ${appId} and m.text <> ${forgotten} and ${isAffected}
        order by mail_id limit ${mailsAtATime} for update
      )
    `.execute(db)
    if (Number(numAffectedRows ?? 0) < mailsAtATime) return
  }
}
