-- Files that are in flight through the S3 gateway, and unannounced files that could not be imported.

create table bucket_uploads (
  app_id integer not null references apps,
  import_id uuid not null default gen_random_uuid(),
  file_name text collate "C" not null,
  storage_upload_id text,
  checksum jsonb,
  part_bytes bigint not null default 0,
  started_at timestamptz not null default now(),
  sent_at timestamptz not null default now(),
  data_order bigint not null default nextval('data_order'),
  primary key (app_id, import_id)
);
create index bucket_uploads_by_age on bucket_uploads (started_at);

create table bucket_upload_parts (
  app_id integer not null,
  import_id uuid not null,
  part_number integer not null,
  byte_size bigint not null,
  md5 text,
  etag text,
  primary key (app_id, import_id, part_number),
  foreign key (app_id, import_id) references bucket_uploads on delete cascade
);

create table unannounced_file_failures (
  app_id integer not null references apps,
  file_hash bytea not null,
  failures integer not null default 1,
  first_failed_at timestamptz not null default now(),
  refused_at timestamptz,
  mailed_at timestamptz,
  primary key (app_id, file_hash)
);
