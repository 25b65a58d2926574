import { type Kysely, sql } from 'kysely'

/**
 * A batch that moves an import's position renews its lease. With the lease in an index each of these updates was an entry in all
 * indexes of the table; now Postgres writes the new version of the row beside the old one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index imports_reports_due`.execute(db)
  await sql`create index imports_reports_due on imports (app_id) where report_due`.execute(db)
}
