-- The outbox, and how many mails each app sent in its present hour.

create table mails (
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
  failed_at timestamptz,
  primary key (app_id, mail_id),
  unique (app_id, event, recipient)
);
create index mails_waiting on mails (next_attempt_at) where state = 'waiting';
create index mails_waiting_by_app on mails (app_id, next_attempt_at) where state = 'waiting';
create index mails_ended on mails (created_at) where state <> 'waiting';
create index mails_failed on mails (failed_at) where state = 'failed';

create table mail_counts (
  app_id integer primary key references apps,
  began_at timestamptz not null,
  mails integer not null,
  most integer not null
);
