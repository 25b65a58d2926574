import { type Kysely, sql } from 'kysely'

/**
 * Who gets mails, and how many: the mails of each app in its present hour, what is due by app, and who was asked to confirm an
 * address. Members from before count as confirmed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table mail_counts (
    app_id integer primary key references apps,
    began_at timestamptz not null,
    mails integer not null,
    most integer not null
  )`,
  `create index mails_waiting_by_app on mails (app_id, next_attempt_at) where state = 'waiting'`,

  `create table invitations (
    app_id integer not null references apps,
    email text not null,
    secret_hash bytea not null,
    invited_by text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    primary key (app_id, email)
  )`,
  // Whoever withdraws an invitation leaves its mails: they still count.
  `create table invitation_mails (
    app_id integer not null references apps,
    mail_id uuid not null default gen_random_uuid(),
    email text not null,
    sent_at timestamptz not null default now(),
    primary key (app_id, mail_id)
  )`,
  `create index invitation_mails_by_email on invitation_mails (email)`,
]
