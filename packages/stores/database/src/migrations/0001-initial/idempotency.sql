-- Idempotency keys of the API (packages/http/idempotency). A key without status is in flight until its lease ends.

create table idempotency_keys (
  app_id integer not null references apps,
  function text not null,
  key text collate "C" not null,
  owner uuid not null,
  lease_until timestamptz not null,
  created_at timestamptz not null default now(),
  status smallint,
  body text,
  request_hash bytea,
  import_id uuid,
  primary key (app_id, function, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
