import { type RawBuilder, sql } from '@sluice/database'

/** Seconds by which the clocks of storage and Postgres may differ, or Postgres's clock may have been set back. */
const clockToleranceSeconds = 60

/**
 * Returns an expression for the `data_order` of a file that was put into the bucket without the gateway. Only storage's
 * clock tells when it was sent, so every deletion that may have come later counts as later.
 */
export function orderOfFile(appId: number, sentAt: Date): RawBuilder<number> {
  return sql`coalesce(
    (
      select min(data_order) - 1 from recently_deleted_users
      where app_id = ${appId} and deleted_at > ${sentAt}::timestamptz - make_interval(secs => ${clockToleranceSeconds})
    ),
    nextval('data_order')
  )`
}
