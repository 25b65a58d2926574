-- Apps with their API tokens, members, invitations and access keys.

create table apps (
  app_id integer generated always as identity primary key,
  name text not null,
  user_hash_salt bytea not null default uuid_send(gen_random_uuid()),
  row_hash_secret bytea not null default uuid_send(gen_random_uuid()),
  new_keys text not null default 'register' check (new_keys in ('register', 'refuse')),
  keep_changes boolean not null default false,
  hold_if jsonb not null default '"never"',
  paused_at timestamptz,
  resumed_at timestamptz,
  deleting_at timestamptz,
  bulk_import_limit text,
  profile_key_limit integer,
  keys_version integer not null default 0,
  created_at timestamptz not null default now()
);

create index apps_paused on apps (app_id) where paused_at is not null;
create index apps_to_delete on apps (app_id) where deleting_at is not null;

-- Apps that are gone. A request from before the deletion may still write, so each is swept once more.
create table deleted_apps (
  former_app_id integer primary key,
  sweep_at timestamptz not null
);

-- Has a row while all apps are paused.
create table service_pause (
  only_row boolean primary key default true check (only_row),
  paused_at timestamptz not null default now()
);

create table api_tokens (
  app_id integer primary key references apps,
  token_hash bytea not null,
  last_four text not null,
  created_at timestamptz not null default now()
);

create table access_keys (
  app_id integer not null references apps,
  access_key_id text collate "C" not null,
  encrypted_secret bytea not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  primary key (app_id, access_key_id)
);

-- Addresses are stored in their normal form and compared byte by byte. Postgres's `lower` depends on the locale: it maps
-- some other letters to ASCII, so that one person could take the identity of another.
create table members (
  app_id integer not null references apps,
  email text not null,
  gets_mails boolean not null default true,
  unsubscribe_key uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now(),
  primary key (app_id, email)
);
create index members_by_email on members (email);

create table invitations (
  app_id integer not null references apps,
  email text not null,
  secret_hash bytea not null,
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (app_id, email)
);

-- Withdrawing an invitation keeps its mails: they still count against the limit.
create table invitation_mails (
  app_id integer not null references apps,
  mail_id uuid not null default gen_random_uuid(),
  email text not null,
  sent_at timestamptz not null default now(),
  primary key (app_id, mail_id)
);
create index invitation_mails_by_email on invitation_mails (email);
