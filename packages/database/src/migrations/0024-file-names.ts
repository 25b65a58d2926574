import { type Kysely, sql } from 'kysely'

/** The imports whose removed files still have names: a deletion that completes forgets these. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index imports_removed_with_names on imports (app_id)
    where file_name is not null and files_removed_at is not null
  `.execute(db)
}
