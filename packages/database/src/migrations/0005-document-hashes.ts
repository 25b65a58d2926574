import { type Kysely, sql } from 'kysely'

/** What tells an import that a profile holds a row's values already. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table users add column document_hash uuid`.execute(db)
}
