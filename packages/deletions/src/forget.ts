import { sql } from '@sluice/database'
import type { DeletionContext } from './context.ts'

/**
 * Hashes of deleted IDs are kept for so many days at least. An import, or an upload through the gateway, that waits for longer
 * keeps them for as long; a file that lies unannounced in the bucket is known to nobody until it is found.
 */
const keptDays = 30

/** Hashes in one transaction. */
const batchHashes = 10_000

/**
 * Forgets which IDs were deleted, once no data that was sent before can be imported any more. Ends early when the process shuts
 * down. Returns how many it forgot.
 */
export async function forgetDeletedUsers({ db, shutdown }: Pick<DeletionContext, 'db' | 'shutdown'>): Promise<number> {
  let forgotten = 0
  for (;;) {
    const { numAffectedRows } = await sql`
      delete from recently_deleted_users where (app_id, user_hash) in (
        select old.app_id, old.user_hash
        from apps a
        cross join lateral (
          select least(
            (
              select min(requested_at) from imports i
              where i.app_id = a.app_id and i.state in ('awaiting_upload', 'queued', 'processing')
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
    forgotten += batch
    if (batch < batchHashes || shutdown?.aborted) return forgotten
  }
}
