-- Deletion requests with the users that they name, the proof of each deletion, and the view of campaign targets.

create table deletion_requests (
  app_id integer not null references apps,
  request_id uuid not null default gen_random_uuid(),
  token_last_four text,
  state text not null default 'accepted' check (state in ('accepted', 'started', 'completed')),
  accepted_at timestamptz not null,
  starts_at timestamptz not null,
  completes_at timestamptz not null,
  started_at timestamptz,
  completed_at timestamptz,
  salt bytea not null,
  users_requested integer not null,
  users_processed integer not null default 0,
  users_deleted integer not null default 0,
  values_deleted bigint not null default 0,
  primary key (app_id, request_id)
);
create index deletion_requests_to_start on deletion_requests (starts_at) where state = 'accepted';
create index deletion_requests_to_complete on deletion_requests (completes_at) where state <> 'completed';
create index deletion_requests_history on deletion_requests (app_id, accepted_at desc);

-- A completion walks an app's open requests by date, in batches, whatever other apps have open.
create index deletion_requests_open on deletion_requests (app_id, completes_at, request_id) where state <> 'completed';

-- No foreign keys: rows are inserted and deleted with their request, thousands at a time, and requests are removed only with their app.
create table deletion_request_users (
  app_id integer not null,
  user_id text collate "C" not null,
  request_id uuid not null,
  primary key (app_id, user_id, request_id)
);
create index deletion_request_users_of_request on deletion_request_users (app_id, request_id, user_id);

create table deleted_users (
  app_id integer not null,
  request_id uuid not null,
  user_hash bytea not null,
  deleted_at timestamptz not null,
  primary key (app_id, request_id, user_hash)
);

-- Data that was sent before a deletion may still wait to be imported.
create table recently_deleted_users (
  app_id integer not null,
  user_hash bytea not null,
  deleted_at timestamptz not null,
  data_order bigint not null default nextval('data_order'),
  primary key (app_id, user_hash)
);
-- Each batch of an import looks up whether a user was deleted since its data was sent.
create index recently_deleted_users_in_order on recently_deleted_users (app_id, data_order);

-- By the clock as well as by the state: no user remains a target because maintenance is late
-- (service.md, States and transitions; design.md §3, Deletion dates).
create view campaign_targets as
  select u.app_id, u.user_id from users u
  where not exists (
    select from deletion_request_users d
    join deletion_requests r on r.app_id = d.app_id and r.request_id = d.request_id
    where d.app_id = u.app_id and d.user_id = u.user_id and (r.state <> 'accepted' or r.starts_at <= now())
  );
