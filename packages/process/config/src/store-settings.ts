import { z } from 'zod'
import { address, addresses, encryptionKeys, postgresAddress, sentinels, trueOrFalse, wholeNumber } from './formats.ts'
import { optional, required, secret, withDefault } from './setting.ts'

/** Settings of Postgres, Redis and object storage, and the keys that encrypt the secrets in Postgres. */
export const storeSettings = {
  DATABASE_URL: secret(
    required(
      postgresAddress,
      'Postgres. Several hosts, separated by commas, are tried in order; `target_session_attrs=any` accepts a read-only server',
    ),
  ),
  DATABASE_PASSWORD_FILE: optional(
    z.string(),
    'File with the password for `DATABASE_URL`, which then has none; each new connection reads it',
  ),
  MIGRATION_DATABASE_URL: secret(
    optional(
      postgresAddress,
      'Postgres for `sluice migrate`, such as an address without a pooler; `DATABASE_URL` if unset',
    ),
  ),
  DATABASE_POOL: withDefault(
    wholeNumber(2, 1000),
    '10',
    'Maximum number of Postgres connections of a process, besides those of the queue; a worker needs four per import',
  ),
  REDIS_URL: secret(
    optional(
      addresses('redis', 'rediss'),
      'Redis for queues and rate limits; if unset, Postgres has them. Several addresses, separated by commas, are a Redis Cluster',
    ),
  ),
  REDIS_SENTINELS: secret(
    optional(
      sentinels,
      'Sentinels as `host:port` separated by commas, or as addresses with password or TLS. `REDIS_URL` then has the login of Redis, and its host is ignored',
    ),
  ),
  REDIS_SENTINEL_NAME: withDefault(z.string(), 'mymaster', 'Name under which the Sentinels know the primary'),
  REDIS_CA_FILE: optional(z.string(), 'File with certificate authorities for Redis and Sentinels'),
  REDIS_KEY_PREFIX: withDefault(
    z.string().regex(/^[^{}\s]*$/, 'must have no braces and no white space'),
    '',
    'Prefix of all keys in a shared Redis',
  ),
  S3_ENDPOINT: required(address('http', 'https'), 'Address of object storage for the processes'),
  S3_PUBLIC_ENDPOINT: optional(
    address('http', 'https'),
    'Address of object storage for clients; `S3_ENDPOINT` if unset',
  ),
  S3_REGION: withDefault(z.string(), 'us-east-1', 'Region that requests to storage are signed for'),
  S3_BUCKET: required(z.string(), 'Bucket for uploads and error files'),
  S3_ACCESS_KEY_ID: secret(
    optional(z.string(), 'Access key of the bucket; without it, the credentials of the machine apply'),
  ),
  S3_SECRET_ACCESS_KEY: secret(optional(z.string(), 'Secret of this access key')),
  // second-day.md §7, Storage.
  S3_PATH_STYLE: withDefault(
    trueOrFalse,
    'true',
    'Whether addresses have the bucket in their path; `false` puts it into the host name',
  ),
  ENCRYPTION_KEYS: secret(
    required(
      encryptionKeys,
      'Keys for the secrets in the database, each 32 bytes in base64, separated by commas: the first encrypts, all decrypt',
    ),
  ),
} as const
