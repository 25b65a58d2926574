import { type Kysely, sql } from 'kysely'

/** An import keeps the limit of its error file that applied when it began. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table imports add column error_room bigint`.execute(db)
}
