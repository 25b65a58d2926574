-- Imports, the rows of their growing files, and what decides which import runs next.

-- Numbers what must be compared by order and not by clocks, which a failover may set back: data as it is sent, deletions of
-- users, and snapshots of exports.
create sequence data_order;

-- Postgres inlines this function, so that a query for one of these states can use an index of unfinished imports.
create function is_unfinished_import(state text) returns boolean language sql immutable
  return state in ('awaiting_upload', 'queued', 'processing', 'held');

create table imports (
  app_id integer not null references apps,
  import_id uuid not null default gen_random_uuid(),
  sequence_number bigint generated always as identity,
  source text not null check (source in ('v3', 'v2', 'dashboard', 'bucket', 'undo')),
  state text not null
    check (state in ('awaiting_upload', 'queued', 'processing', 'held', 'completed', 'failed', 'expired', 'cancelled')),
  dry_run boolean not null default false,
  retry_of uuid,
  undo_of uuid,
  requested_by text,
  data_order bigint not null default nextval('data_order'),

  -- The file.
  object_key text not null,
  file_name text,
  content_type text not null check (content_type in ('text/csv', 'application/gzip')),
  byte_size bigint,
  checksum text,
  etag text,
  stored_size bigint,
  upload_expires_at timestamptz,
  upload_check_at timestamptz,
  upload_hash bytea,
  signature_hash bytea,
  files_removed_at timestamptz,

  -- The options.
  profile_types json not null default '{}',
  new_keys text not null default 'register' check (new_keys in ('register', 'refuse')),
  clear_marker text,
  keep_changes boolean not null default false,
  hold_if jsonb not null default '"never"',

  -- The check that precedes the first row of an import with bounds (changes.md §2).
  check_passed boolean not null default false,
  is_check boolean not null generated always as (hold_if <> '"never"' and not dry_run and not check_passed) stored,
  held_reasons text[],
  held_at timestamptz,
  held_until timestamptz,

  -- The claim.
  attempt integer not null default 0,
  tries integer not null default 0,
  lease_until timestamptz,
  retry_at timestamptz,
  dispatched_at timestamptz,
  holds_order boolean not null default false,

  -- The progress.
  columns json,
  types json not null default '{}',
  warnings jsonb not null default '[]',
  spelling_counts json not null default '[]',
  previewed_keys text[] not null default '{}',
  position bigint not null default 0,
  batch_end bigint,
  batch_rows integer,
  rows_total bigint not null default 0,
  rows_applied bigint not null default 0,
  rows_failed bigint not null default 0,
  has_errors boolean not null generated always as (rows_failed > 0) stored,
  rows_changed bigint not null default 0,
  changes jsonb not null default '{}',

  -- The result.
  error text,
  error_counts jsonb not null default '{}',
  error_bytes bigint not null default 0,
  error_room bigint,
  deletions_applied_until bigint,
  error_file_ends_before_row bigint,
  error_file_key text,
  error_file_secret text,
  changes_bytes bigint not null default 0,
  changes_file_ends_before_row bigint,
  changes_file_key text,
  changes_file_secret text,
  file_links_expire_at timestamptz,
  error_file_is_utf8 boolean not null default false,
  report_due boolean not null default false,

  requested_at timestamptz not null default now(),
  queued_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,

  primary key (app_id, import_id),
  constraint imports_dry_run_applies_nothing check (not (dry_run or is_check) or rows_applied = 0),
  -- An import ends only after the rows that were kept for its files are in storage.
  constraint imports_chunks_stored check (error_bytes = 0 and changes_bytes = 0 or report_due or is_unfinished_import(state))
);

-- What becomes of the columns of files that people upload in the dashboard, by the set of column names. No values.
create table column_mappings (
  app_id integer not null references apps,
  columns_hash bytea not null,
  mapping jsonb not null,
  kept_at timestamptz not null default now(),
  primary key (app_id, columns_hash)
);

create unique index imports_by_id on imports (import_id);

-- An import is active if it runs, is held, or was released after it committed a batch. The latter keeps its app
-- (`holds_order`) until it ends. Otherwise an earlier import could run between two of its batches, and no order of the two
-- files would explain the result.
create function is_active_import(state text, holds_order boolean) returns boolean language sql immutable
  return state in ('processing', 'held') or state = 'queued' and holds_order;

-- The guarantee of order (design.md §4, Order): at most one import of an app is active at any moment, and one dry run
-- next to it.
create unique index imports_one_active_per_app on imports (app_id, dry_run) where is_active_import(state, holds_order);

-- Finds the first import of each state, in each app's order of imports and in its order of dry runs.
create index imports_in_order on imports (app_id, dry_run, state, sequence_number) where is_unfinished_import(state);

-- Finds the imports that wait for a worker. A claim clears `dispatched_at`.
create index imports_dispatched on imports (dispatched_at)
  where dispatched_at is not null and state in ('queued', 'processing');

create index imports_upload_checks on imports (upload_check_at) where upload_check_at is not null;
create index imports_history on imports (app_id, sequence_number desc);
-- Lists of the imports of all apps, for operators: one index for each filter. Their columns never change during an import,
-- except the state.
create index imports_by_time on imports (requested_at desc, sequence_number desc);
create index imports_by_app on imports (app_id, requested_at desc, sequence_number desc);
create index imports_by_state on imports (state, requested_at desc, sequence_number desc);
create index imports_by_source on imports (source, requested_at desc, sequence_number desc);
create index imports_with_errors on imports (requested_at desc, sequence_number desc) where has_errors;
create index imports_dry_runs on imports (requested_at desc, sequence_number desc) where dry_run;
create extension if not exists pg_trgm;
create index imports_by_file_name on imports using gin (file_name gin_trgm_ops);

-- The list of an app's imports with a filter. Their columns change only with the state, never with a batch.
create index imports_history_by_state on imports (app_id, state, sequence_number desc);
create index imports_history_by_source on imports (app_id, source, sequence_number desc);
create index imports_ended on imports (finished_at) where finished_at is not null;

-- Without `lease_until`: each batch renews the lease. An index on it would turn every renewal into a new entry in all
-- indexes of the table. Without such an index, Postgres writes the row's new version beside the old one.
create index imports_reports_due on imports (app_id) where report_due;

-- Finds the oldest data that an app still has: hashes of users who were deleted since must be kept.
create index imports_with_files on imports (app_id, data_order) where files_removed_at is null;

-- Finds the undos of an import.
create index imports_undos on imports (app_id, undo_of) where undo_of is not null;

-- Whether an import is undone (changes.md §3, Allowed): an undo of it waits, runs or has completed, and is not itself
-- undone.
create function undone_by(of_app integer, of_import uuid) returns uuid language plpgsql stable as $$
begin
  return (
    select u.import_id from imports u
    where u.app_id = of_app and u.undo_of = of_import and not u.dry_run
      and u.state in ('queued', 'processing', 'completed') and undone_by(of_app, u.import_id) is null
    limit 1
  );
end $$;

-- Finds the retries that share a file.
create index imports_retries on imports (app_id, object_key) where retry_of is not null;

create index imports_files_to_remove on imports (finished_at)
  where files_removed_at is null and state in ('completed', 'failed', 'expired', 'cancelled');

-- Imports whose removed files still have names, or warnings with values of the files: a deletion that completes forgets both.
create index imports_with_traces on imports (app_id)
  where files_removed_at is not null and (file_name is not null or warnings <> '[]');

-- An upload never becomes two imports, however often its request is repeated.
create unique index imports_upload_hash on imports (app_id, upload_hash) where upload_hash is not null;

-- The latest upload with a signature decides whether the next one repeats it.
create index imports_signature on imports (app_id, signature_hash, sequence_number desc) where signature_hash is not null;

create index imports_bucket_file on imports (app_id, (file_name collate "C"), sequence_number desc)
  where source = 'bucket' and files_removed_at is null;

-- The chunks live for minutes: compressing them would cost more than it saves.
create table import_chunks (
  app_id integer not null,
  import_id uuid not null,
  file text not null default 'errors' check (file in ('errors', 'changes')),
  position bigint not null,
  content bytea storage external not null,
  starts_at bigint not null,
  bytes bigint not null,
  primary key (app_id, import_id, file, position),
  foreign key (app_id, import_id) references imports
);

-- Adds numbers of two JSON objects by their names, in nested objects as well.
create function add_counts(one jsonb, other jsonb) returns jsonb language plpgsql immutable as $$
begin
  return coalesce((
    select jsonb_object_agg(key, case jsonb_typeof(coalesce(o.value, t.value))
        when 'object' then add_counts(coalesce(o.value, '{}'), coalesce(t.value, '{}'))
        else to_jsonb(coalesce(o.value::bigint, 0) + coalesce(t.value::bigint, 0)) end)
    from jsonb_each(one) o full join jsonb_each(other) t using (key)
  ), '{}');
end $$;

-- The lines of changes files that are being undone. A row has lines of one user that follow each other, and the number
-- of the first one. Unlogged: after a crash they are read from the file again.
create unlogged table undo_lines (
  app_id integer not null,
  import_id uuid not null,
  user_id text collate "C" not null,
  line bigint not null,
  keys text[] not null,
  types text[] not null,
  befores text[] not null,
  afters text[] not null,
  primary key (app_id, import_id, user_id, line)
);

-- How long each app has recently used slots of workers. Unlogged: after a crash, all apps start equal.
create unlogged table import_slot_time (
  app_id integer primary key,
  seconds double precision not null,
  noted_at timestamptz not null
) with (fillfactor = 50);

-- The order rule (service.md, States and transitions; design.md §3, Request order). Dispatch, claims, autoscaling and
-- pages select from what follows, so it is stated once. Each app has one order of imports and one of dry runs.

-- Apps whose imports are paused (second-day.md §6, Pauses).
create view paused_apps as
  select app_id from apps where paused_at is not null or exists (select from service_pause);

-- The orders that hold an unfinished import. Each step of the recursion jumps to the following order in the index.
create view import_orders as
  with recursive orders as (
    (
      select app_id, dry_run from imports where is_unfinished_import(state) order by app_id, dry_run limit 1
    )
    union all
    select following.app_id, following.dry_run from orders cross join lateral (
      select app_id, dry_run from imports
      where is_unfinished_import(state) and (app_id, dry_run) > (orders.app_id, orders.dry_run) order by app_id, dry_run limit 1
    ) following
  )
  select app_id, dry_run from orders;

-- The orders whose queued imports wait for a worker or for each other: their app is not paused, and no import of theirs is
-- held (changes.md §2, Held).
create view waiting_orders as
  select o.app_id, o.dry_run from import_orders o
  where not exists (select from paused_apps p where p.app_id = o.app_id)
    and not exists (
      select from imports h where h.app_id = o.app_id and h.dry_run = o.dry_run and h.state = 'held'
    );

-- The unfinished imports with their places in their orders: the active import, then the others by sequence number.
create view import_places as
  select app_id, dry_run, import_id, state, row_number() over (
    partition by app_id, dry_run order by is_active_import(state, holds_order) desc, sequence_number
  )::integer as place
  from imports where is_unfinished_import(state);

-- The import of an order that runs, or could run if a worker were free; no row if there is none, or if the app is paused.
-- This is the active import of the order, otherwise its first queued import. An import that waits for a retry keeps its
-- order and cannot run. A preceding import that is still uploading delays the first queued import until its own file has
-- been there for `upload_wait`. Once an import has committed a batch, nothing precedes it: files never interleave. While
-- the active import is held, none can run (changes.md §2, Held).
-- Each part is one index lookup, however many imports of the app wait.
create function runnable_import(of_app integer, of_dry_run boolean, upload_wait interval) returns setof imports
language sql stable rows 1 as $$
  select i.* from imports i
  where i.app_id = of_app and i.import_id = coalesce(
      (
        select import_id from imports e
        where e.app_id = of_app and e.dry_run = of_dry_run and is_active_import(e.state, e.holds_order) limit 1
      ),
      (
        select import_id from imports e
        where e.app_id = of_app and e.dry_run = of_dry_run and e.state = 'queued' order by sequence_number limit 1
      )
    )
    and i.state <> 'held'
    -- 1 minute: the longest pause before a retry.
    and (i.state = 'processing' or i.retry_at is null or is_due(i.retry_at, interval '1 minute'))
    and (
      is_active_import(i.state, i.holds_order)
      or is_due(i.queued_at + upload_wait, upload_wait)
      or not exists (
        select from imports e
        where e.app_id = of_app and e.dry_run = of_dry_run and e.state = 'awaiting_upload'
          and e.sequence_number < i.sequence_number
      )
    )
    and not exists (select from paused_apps p where p.app_id = of_app)
$$;

-- Counts the imports that run or could run now, for autoscaling. Uploads delay nothing here. The cost depends on the number of
-- apps, not on how many imports each has queued.
create function runnable_imports() returns bigint language sql stable as $$
  select count(*) from import_orders o cross join lateral runnable_import(o.app_id, o.dry_run, '0')
$$;
