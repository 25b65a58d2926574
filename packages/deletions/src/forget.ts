import { sql } from '@sluice/database'
import { unfinishedStates } from '@sluice/imports'
import type { DeletionContext } from './context.ts'

/**
 * Hashes of deleted IDs are kept for at least this many days. If an import or a bucket upload waits for longer, the
 * hashes are kept until it has ended. The minimum covers unannounced files, which nobody knows of until maintenance
 * finds them.
 */
const keptDays = 30

/** Maximum number of hashes that one transaction removes. */
const batchHashes = 10_000

/**
 * Removes the hashes of deleted IDs when no data from before the deletion can be imported any more. Ends early if the
 * process shuts down. Returns how many hashes it removed.
 */
export async function forgetDeletedUsers({ db, shutdown }: Pick<DeletionContext, 'db' | 'shutdown'>): Promise<number> {
  let removed = 0
  for (;;) {
    const { numAffectedRows } = await sql`
      delete from recently_deleted_users where (app_id, user_hash) in (
        select old.app_id, old.user_hash
        from apps a
        cross join lateral (
          select least(
            (
              select min(coalesce(data_sent_at, requested_at)) from imports i
              where i.app_id = a.app_id and i.state in ${unfinishedStates}
            ),
            (select min(sent_at) from bucket_uploads u where u.app_id = a.app_id),
            now() - make_interval(days => ${keptDays})
          ) as until
        ) kept
        cross join lateral (
          select d.app_id, d.user_hash from recently_deleted_users d
          where d.app_id = a.app_id and d.deleted_at < kept.until
          order by d.deleted_at limit ${batchHashes}
        ) old
        limit ${batchHashes}
      )
    `.execute(db)
    const batch = Number(numAffectedRows ?? 0)
    removed += batch
    if (batch < batchHashes || shutdown?.aborted) return removed
  }
}
