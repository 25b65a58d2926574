import { type Kysely, sql } from 'kysely'

/** The checksum that a bucket upload in parts begins with: it binds the parts, whichever gateway takes them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table bucket_uploads add column checksum jsonb`.execute(db)
}
