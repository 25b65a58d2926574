import { type Kysely, sql } from 'kysely'

/** Who may sign in to the dashboard, by which links and sessions, and what its pages look up. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table members add column gets_mails boolean not null default true`,
  `create index members_by_email on members (lower(email))`,

  `create table operators (
    email text primary key check (email = lower(email)),
    created_at timestamptz not null default now()
  )`,

  `create table sign_in_links (
    secret_hash bytea primary key,
    email text not null,
    expires_at timestamptz not null,
    used_at timestamptz
  )`,
  `create index sign_in_links_by_expiry on sign_in_links (expires_at)`,

  `create table sessions (
    secret_hash bytea primary key,
    email text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  `create index sessions_by_expiry on sessions (expires_at)`,

  // One row. 244 of the bits of two random UUIDs are random.
  `create table signing_keys (key bytea primary key)`,
  `insert into signing_keys
    select decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')`,

  `create table workers (
    worker_id uuid primary key,
    host text not null,
    pid integer not null,
    queues text[] not null,
    import_ids uuid[] not null,
    started_at timestamptz not null default now(),
    seen_at timestamptz not null default now()
  )`,

  `create index imports_ended on imports (finished_at) where finished_at is not null`,
  `create index mails_failed on mails (created_at) where state = 'failed'`,
]
