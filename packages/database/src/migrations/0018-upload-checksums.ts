import { type Kysely, sql } from 'kysely'

/** The checksum that a bucket upload in parts begins with: it binds the parts, whichever gateway takes them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table dropbox_uploads add column checksum jsonb`.execute(db)
}
