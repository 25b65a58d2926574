import { type Kysely, sql } from 'kysely'

/** What tells an import that a profile holds the values of a row already. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table users add column row_hash uuid`.execute(db)
}
