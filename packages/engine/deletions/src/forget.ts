import { sql } from '@sluice/database'
import type { DeletionContext } from './context.ts'

/**
 * Hashes of deleted IDs are kept for at least this many days, and as long as the app has a file that was sent before
 * the deletion. The minimum covers unannounced files, which nobody knows of until maintenance finds them.
 */
const keptDays = 30

/** Follows every number of `data_order`. */
const newest = sql.lit(Number.MAX_SAFE_INTEGER)

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
            (select min(data_order) from imports i where i.app_id = a.app_id and i.files_removed_at is null),
            (select min(data_order) from bucket_uploads u where u.app_id = a.app_id)
          ) as oldest
        ) kept
        cross join lateral (
          select d.app_id, d.user_hash from recently_deleted_users d
          where d.app_id = a.app_id and d.data_order < coalesce(kept.oldest, ${newest})
            and d.deleted_at < now() - make_interval(days => ${keptDays})
          order by d.data_order limit ${batchHashes}
        ) old
        limit ${batchHashes}
      )
    `.execute(db)
    const batch = Number(numAffectedRows ?? 0)
    removed += batch
    if (batch < batchHashes || shutdown?.aborted) return removed
  }
}
