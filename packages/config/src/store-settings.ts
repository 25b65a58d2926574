import { z } from 'zod'
import { address, addresses, encryptionKeys, postgresAddress, sentinels, wholeNumber, yesOrNo } from './formats.ts'
import { optional, required, secret, withDefault } from './setting.ts'

/** Settings of Postgres, Redis and object storage, and the keys that encrypt the secrets in Postgres. */
export const storeSettings = {
  DATABASE_URL: secret(
    required(
      postgresAddress,
      'Postgres, the source of truth. Several hosts, separated by commas, are tried in order; `target_session_attrs=any` accepts a server that is read-only',
    ),
  ),
  DATABASE_PASSWORD_FILE: optional(
    z.string(),
    'File with the password for `DATABASE_URL`, which then has none; each new connection reads it, so the password can change without a restart',
  ),
  MIGRATION_DATABASE_URL: secret(
    optional(
      postgresAddress,
      'Postgres for `sluice migrate`, such as another role or an address without a pooler; `DATABASE_URL` if unset',
    ),
  ),
  DATABASE_POOL: withDefault(
    wholeNumber(2, 1000),
    '10',
    'Maximum number of Postgres connections of one process, besides those of the queue; a worker needs four for each import at a time',
  ),
  REDIS_URL: secret(
    optional(
      addresses('redis', 'rediss'),
      'Redis for the queues and the rate limits; if unset, Postgres stores them. Several addresses, separated by commas, are nodes of a Redis Cluster',
    ),
  ),
  REDIS_SENTINELS: secret(
    optional(
      sentinels,
      'Sentinels that know the primary of Redis, as `host:port` separated by commas, or as addresses if they need a password or TLS. User, password, database and TLS of Redis itself are those of `REDIS_URL`, whose host is then ignored',
    ),
  ),
  REDIS_SENTINEL_NAME: withDefault(z.string(), 'mymaster', 'Name under which the Sentinels know the primary'),
  REDIS_CA_FILE: optional(
    z.string(),
    'File with the certificate authorities that Redis and Sentinels with TLS are checked against',
  ),
  REDIS_KEY_PREFIX: withDefault(
    z.string().regex(/^[^{}\s]*$/, 'must have no braces and no white space'),
    '',
    'Prefix of all keys in Redis, for a Redis that others use as well',
  ),
  S3_ENDPOINT: required(address('http', 'https'), 'Address of object storage for the API and the workers'),
  S3_PUBLIC_ENDPOINT: optional(
    address('http', 'https'),
    'Address of object storage for clients; `S3_ENDPOINT` if unset',
  ),
  S3_REGION: withDefault(z.string(), 'us-east-1', 'Region that requests to storage are signed for'),
  S3_BUCKET: required(z.string(), 'Bucket for uploads and error files'),
  S3_ACCESS_KEY_ID: secret(
    optional(
      z.string(),
      'Access key of the bucket; without it, the credentials of the machine apply (environment, profile, IRSA, instance role)',
    ),
  ),
  S3_SECRET_ACCESS_KEY: secret(optional(z.string(), 'Secret of this access key')),
  S3_PATH_STYLE: withDefault(
    yesOrNo,
    'true',
    'Whether addresses of storage have the bucket in their path; `false` puts it into the host name',
  ),
  ENCRYPTION_KEYS: secret(
    required(
      encryptionKeys,
      'Keys for the secrets in the database, each 32 bytes in base64, separated by commas: the first encrypts, all decrypt',
    ),
  ),
} as const
