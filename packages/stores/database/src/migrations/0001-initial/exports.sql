-- Exports of profiles (packages/engine/exports).

create table exports (
  app_id integer not null references apps,
  export_id uuid not null default gen_random_uuid(),
  keys text[],
  state text not null default 'queued' check (state in ('queued', 'processing', 'completed', 'failed')),
  attempt integer not null default 0,
  tries integer not null default 0,
  lease_until timestamptz,
  retry_at timestamptz,
  rows bigint not null default 0,
  bytes bigint not null default 0,
  error text,
  file_secret text,
  file_expires_at timestamptz,
  files_removed_at timestamptz,
  sweep_at timestamptz,
  snapshot_order bigint,
  requested_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  primary key (app_id, export_id)
);
create unique index exports_by_id on exports (export_id);

-- One export of an app runs at a time.
create unique index exports_one_active_per_app on exports (app_id) where state = 'processing';
create index exports_unfinished on exports (requested_at) where state in ('queued', 'processing');
create index exports_by_end on exports (app_id, finished_at);
create index exports_with_files on exports (app_id) where files_removed_at is null;
create index exports_files_to_remove on exports (finished_at) where files_removed_at is null and finished_at is not null;
create index exports_to_sweep on exports (sweep_at) where sweep_at is not null;
