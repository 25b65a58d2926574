import { type Kysely, sql } from 'kysely'

/** Access keys, the files that are on their way through the S3 gateway, and what an import knows of its file in the bucket. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table access_keys (
    app_id integer not null references apps,
    access_key_id text collate "C" not null,
    encrypted_secret bytea not null,
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    primary key (app_id, access_key_id)
  )`,

  `create table bucket_uploads (
    app_id integer not null references apps,
    import_id uuid not null default gen_random_uuid(),
    file_name text collate "C" not null,
    storage_upload_id text,
    started_at timestamptz not null default now(),
    primary key (app_id, import_id)
  )`,
  `create index bucket_uploads_by_age on bucket_uploads (started_at)`,

  `alter table imports add column upload_hash bytea`,
  // The same upload never becomes two imports, however often its request is repeated.
  `create unique index imports_upload_hash on imports (app_id, upload_hash) where upload_hash is not null`,
  `create index imports_bucket_file on imports (app_id, (file_name collate "C"), sequence_number desc)
    where source = 'bucket' and files_removed_at is null`,
]
