import { type Kysely, sql } from 'kysely'

/** What each bucket upload was signed with, and the unannounced files that could not be taken on. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table imports add column signature_hash bytea`,
  // The latest upload with a signature decides whether the next one repeats it.
  `create index imports_signature on imports (app_id, signature_hash, sequence_number desc) where signature_hash is not null`,

  `create table unannounced_file_failures (
    app_id integer not null references apps,
    file_hash bytea not null,
    failures integer not null default 1,
    first_failed_at timestamptz not null default now(),
    refused_at timestamptz,
    primary key (app_id, file_hash)
  )`,
]
