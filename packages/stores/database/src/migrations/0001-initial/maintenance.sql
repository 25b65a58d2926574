-- Tables of worker processes and their maintenance.

create table workers (
  worker_id uuid primary key,
  host text not null,
  pid integer not null,
  queues text[] not null,
  import_ids uuid[] not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  lost_at timestamptz not null
);

-- What imports of all apps did in each quarter of an hour of the last days, for the overview of operators. `waiting` is the
-- largest number of waiting imports that was measured; null if no worker ran.
create table queue_history (
  slot timestamptz primary key,
  rows_read double precision not null,
  completed integer not null,
  failed integer not null,
  waiting integer,
  recorded_at timestamptz not null
);

-- Places in storage that are cleared a second time, because a late write may still arrive there. No foreign keys: the import
-- of such a place may be gone.
create table file_sweeps (
  app_id integer not null,
  import_id uuid not null,
  due_at timestamptz not null,
  primary key (app_id, import_id)
);
create index file_sweeps_due on file_sweeps (due_at);

-- 1 MiB, removed when the disk is full. Emptying a table with indexes needs some pages itself. This table has no index, and
-- no values that could be stored out of line.
create table disk_reserve (filler name not null);
insert into disk_reserve select '' from generate_series(1, 11000);
