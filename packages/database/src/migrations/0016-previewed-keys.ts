import { type Kysely, sql } from 'kysely'

/** The keys that a dry run's committed batches would have registered: a worker that takes it over counts them as well. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table imports add column previewed_keys text[] not null default '{}'`.execute(db)
}
