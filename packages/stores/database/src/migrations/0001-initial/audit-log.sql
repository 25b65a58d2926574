-- Who did what. Entries outlive their app, so there is no foreign key. `app_id` is 0 if an entry concerns the whole service.

create table audit_log (
  app_id integer not null,
  at timestamptz not null default clock_timestamp(),
  entry_id bigint generated always as identity,
  who_type text not null check (who_type in ('member', 'operator', 'cli', 'token', 'guest')),
  who text not null,
  what text not null,
  target text,
  outcome text not null default 'started' check (outcome in ('started', 'done', 'unchanged', 'refused', 'failed')),
  address text,
  request_id text,
  primary key (app_id, at, entry_id)
);
create index audit_log_by_time on audit_log (at desc, entry_id desc);
create index audit_log_by_person on audit_log (who, at desc, entry_id desc);
create index audit_log_by_action on audit_log (what, at desc, entry_id desc);
-- Finds who approved or cancelled an import.
create index audit_log_of_imports on audit_log (target) where what in ('import.approve', 'import.cancel');
