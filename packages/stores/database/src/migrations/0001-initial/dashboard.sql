-- Operators, the links and sessions that sign people in, and the key of all signatures (packages/access/sign-in).

create table operators (
  email text primary key check (email = lower(email)),
  created_at timestamptz not null default now()
);

create table sign_in_links (
  secret_hash bytea primary key,
  email text not null,
  return_path text not null default '/',
  expires_at timestamptz not null,
  used_at timestamptz
);
create index sign_in_links_by_expiry on sign_in_links (expires_at);

-- A session that began at an OpenID Connect provider names the account there, and ends unless the provider confirms it.
create table sessions (
  secret_hash bytea primary key,
  email text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  by_invitation boolean not null default false,
  issuer text,
  subject text,
  confirmed_until timestamptz,
  operator_by_group boolean not null default false,
  check (num_nulls(issuer, subject, confirmed_until) in (0, 3)),
  check (issuer is not null or not operator_by_group)
);
create index sessions_by_expiry on sessions (expires_at);

-- Which account at an OpenID Connect provider an address belongs to, since the first sign-in with it.
create table provider_accounts (
  issuer text not null,
  email text not null,
  subject text not null,
  created_at timestamptz not null default now(),
  primary key (issuer, email),
  unique (issuer, subject)
);

-- One row. 244 of the bits of two random UUIDs are random.
create table signing_keys (key bytea primary key);
insert into signing_keys
  select decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
