-- Webhook endpoints of apps, and the outbox of their deliveries (packages/notifications/webhooks).

create table webhook_endpoints (
  app_id integer not null references apps,
  endpoint_id uuid not null default gen_random_uuid(),
  url text not null,
  events text[] not null,
  encrypted_secret bytea not null,
  previous_secret bytea,
  rotated_at timestamptz,
  created_at timestamptz not null default now(),
  erring_since timestamptz,
  failing_since timestamptz,
  disabled_at timestamptz,
  removed_at timestamptz,
  primary key (app_id, endpoint_id)
);
create index webhook_endpoints_failing on webhook_endpoints (failing_since) where failing_since is not null;
create index webhook_endpoints_removed on webhook_endpoints (removed_at) where removed_at is not null;

create table webhook_deliveries (
  app_id integer not null references apps,
  delivery_id uuid not null default gen_random_uuid(),
  endpoint_id uuid not null,
  type text not null,
  event text not null,
  body text not null,
  has_file_name boolean not null default false,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  attempt integer not null default 0,
  tries integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  lease_until timestamptz,
  retry_until timestamptz not null,
  last_attempt_at timestamptz,
  last_status integer,
  last_error text,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (app_id, delivery_id),
  unique (app_id, endpoint_id, event),
  foreign key (app_id, endpoint_id) references webhook_endpoints
);
create index webhook_deliveries_waiting on webhook_deliveries (app_id, endpoint_id, next_attempt_at) where state = 'waiting';
create index webhook_deliveries_in_flight on webhook_deliveries (app_id, endpoint_id) where lease_until is not null;
create index webhook_deliveries_newest on webhook_deliveries (app_id, created_at desc, delivery_id desc);
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
create index webhook_deliveries_with_file_name on webhook_deliveries (app_id) where has_file_name;
