-- Users, their profile values, and the registered profile keys.

create extension if not exists hstore;

-- No foreign key to apps: a check per row would cost bulk registration a fifth of its time. Deleting an app deletes its users.
create table users (
  app_id integer not null,
  user_id text collate "C" not null,
  registered_at timestamptz not null default now(),
  primary key (app_id, user_id)
);

-- A separate table: a user's first values are then a plain insert instead of a second, larger version of the row that
-- registered the user (docs/decisions.md). No foreign key to users: its checks would lock each user of a batch. Whatever
-- deletes users deletes their profiles as well. `updated_at` has a default because `copy` accepts no expression such as
-- now(). `attributes` has the text of each value by key; `profile_keys` has its type.
create table profiles (
  app_id integer not null,
  user_id text collate "C" not null,
  attributes hstore not null,
  row_hash uuid,
  updated_at timestamptz not null default now(),
  primary key (app_id, user_id)
);

create table profile_keys (
  app_id integer not null references apps,
  key text collate "C" not null,
  type text not null check (type in ('string', 'int', 'decimal', 'datetime')),
  registered_at timestamptz not null default now(),
  enabled boolean not null default true,
  description text,
  primary key (app_id, key)
);
