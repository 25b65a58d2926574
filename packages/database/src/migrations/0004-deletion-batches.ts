import { type Kysely, sql } from 'kysely'

/** An app's open deletion requests by date, so that a completion walks them in batches, whatever other apps have open. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index deletion_requests_open on deletion_requests (app_id, completes_at, request_id)
    where state <> 'completed'`.execute(db)
}
