import { type RawBuilder, sql } from '@sluice/database'
import type { MaintenanceContext } from './context.ts'
import { listFiles } from './find-unannounced-files.ts'
import { pathOf } from './path.ts'

// Only storage's clock tells when a file was sent that was put into the bucket without the gateway. So every deletion
// that may have come later counts as later.

/** Seconds by which the clocks of storage and Postgres may differ. */
const clockToleranceSeconds = 60

/**
 * Returns the time of the newest file in an app's path by the clock of storage, or null if the path is empty. A
 * deletion that begins now is later than this time, even if Postgres's clock was set back and tells an earlier time.
 */
export async function newestFileAt(
  context: Pick<MaintenanceContext, 'storage' | 'shutdown'>,
  appId: number,
): Promise<Date | null> {
  const files = await listFiles(context, pathOf(appId))
  return files.reduce<Date | null>(
    (newest, { modifiedAt }) => (newest && newest > modifiedAt ? newest : modifiedAt),
    null,
  )
}

/** Returns an expression for the `data_order` of a file. */
export function orderOfFile(appId: number, sentAt: Date): RawBuilder<number> {
  return sql`coalesce((select min(data_order) - 1 from ${laterDeletions(appId, sentAt)}), nextval('data_order'))`
}

/** Returns an expression that tells whether users of the app were deleted after a file was sent. */
export function precedesDeletion(appId: number, sentAt: Date): RawBuilder<boolean> {
  return sql`exists (select from ${laterDeletions(appId, sentAt)})`
}

function laterDeletions(appId: number, sentAt: Date): RawBuilder<unknown> {
  return sql`(
    select data_order from recently_deleted_users
    where app_id = ${appId} and deleted_at > ${sentAt}::timestamptz - make_interval(secs => ${clockToleranceSeconds})
  ) later`
}
