import { type Kysely, sql } from 'kysely'

/** Apps, tokens, members, users with their profiles, profile keys, imports and the mail outbox. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table apps (
    app_id integer generated always as identity primary key,
    name text not null,
    created_at timestamptz not null default now()
  )`,

  `create table api_tokens (
    app_id integer primary key references apps,
    token_hash bytea not null,
    last_four text not null,
    created_at timestamptz not null default now()
  )`,

  `create table members (
    app_id integer not null references apps,
    email text not null,
    created_at timestamptz not null default now(),
    primary key (app_id, email)
  )`,

  // No foreign key to apps: a check per row would cost bulk registration a fifth of its time, and apps are never removed.
  `create table users (
    app_id integer not null,
    user_id text collate "C" not null,
    registered_at timestamptz not null default now(),
    attributes jsonb not null default '{}',
    updated_at timestamptz,
    primary key (app_id, user_id)
  )`,

  `create view campaign_targets as select app_id, user_id from users`,

  `create table profile_keys (
    app_id integer not null references apps,
    key text collate "C" not null,
    type text not null check (type in ('string', 'int', 'decimal', 'datetime')),
    registered_at timestamptz not null default now(),
    primary key (app_id, key)
  )`,

  `create table imports (
    app_id integer not null references apps,
    import_id uuid not null default gen_random_uuid(),
    sequence_number bigint generated always as identity,
    source text not null check (source in ('v3', 'v2', 'dashboard', 'bucket')),
    state text not null
      check (state in ('awaiting_upload', 'queued', 'processing', 'completed', 'failed', 'expired')),
    object_key text not null,
    content_type text not null check (content_type in ('text/csv', 'application/gzip')),
    byte_size bigint,
    checksum text,
    upload_expires_at timestamptz,
    upload_check_at timestamptz,
    etag text,
    stored_size bigint,
    attempt integer not null default 0,
    tries integer not null default 0,
    lease_until timestamptz,
    retry_at timestamptz,
    dispatched_at timestamptz,
    columns json,
    types json not null default '{}',
    position bigint not null default 0,
    rows_total bigint not null default 0,
    rows_applied bigint not null default 0,
    rows_failed bigint not null default 0,
    error text,
    error_file_key text,
    error_file_secret text,
    error_file_expires_at timestamptz,
    files_removed_at timestamptz,
    requested_at timestamptz not null default now(),
    queued_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    primary key (app_id, import_id)
  )`,
  `create unique index imports_by_id on imports (import_id)`,
  // The guarantee of order: at most one import of an app is active at any moment (design.md §4).
  `create unique index imports_one_active_per_app on imports (app_id) where state = 'processing'`,
  `create index imports_order on imports (app_id, sequence_number)
    where state in ('awaiting_upload', 'queued', 'processing')`,
  `create index imports_to_dispatch on imports (dispatched_at) where state in ('queued', 'processing')`,
  `create index imports_upload_checks on imports (upload_check_at) where upload_check_at is not null`,
  `create index imports_files_to_remove on imports (finished_at)
    where files_removed_at is null and state in ('completed', 'failed', 'expired')`,
  `create index imports_history on imports (app_id, sequence_number desc)`,

  `create table import_error_chunks (
    app_id integer not null,
    import_id uuid not null,
    position bigint not null,
    part integer not null,
    content bytea not null,
    primary key (app_id, import_id, position, part),
    foreign key (app_id, import_id) references imports
  )`,
  // The chunks live for minutes: compressing them costs more than it saves.
  `alter table import_error_chunks alter column content set storage external`,

  `create table mails (
    app_id integer not null references apps,
    mail_id uuid not null default gen_random_uuid(),
    event text not null,
    recipient text not null,
    subject text not null,
    text text not null,
    html text not null,
    state text not null default 'waiting' check (state in ('waiting', 'sent', 'failed')),
    attempt integer not null default 0,
    next_attempt_at timestamptz not null default now(),
    last_error text,
    created_at timestamptz not null default now(),
    sent_at timestamptz,
    primary key (app_id, mail_id),
    unique (app_id, event, recipient)
  )`,
  `create index mails_waiting on mails (next_attempt_at) where state = 'waiting'`,
]
