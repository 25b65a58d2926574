import { type Kysely, sql } from 'kysely'

/**
 * Which user IDs were deleted lately, since data that was sent before may still wait to be imported; and the places in storage
 * that are cleared once more, since somebody may still write there.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table apps add column user_hash_salt bytea not null default uuid_send(gen_random_uuid())`,
  `create table recently_deleted_users (
    app_id integer not null,
    user_hash bytea not null,
    deleted_at timestamptz not null,
    primary key (app_id, user_hash)
  )`,
  // Each batch of an import asks whether a user was deleted since its data was sent.
  `create index recently_deleted_users_by_time on recently_deleted_users (app_id, deleted_at)`,
  `alter table imports add column error_rows_since timestamptz`,
  `alter table bucket_uploads add column sent_at timestamptz not null default now()`,
  // Without foreign keys: the import of such a place may be gone.
  `create table file_sweeps (
    app_id integer not null,
    import_id uuid not null,
    due_at timestamptz not null,
    primary key (app_id, import_id)
  )`,
  `create index file_sweeps_due on file_sweeps (due_at)`,
]
