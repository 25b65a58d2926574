import { z } from 'zod'
import { address, addresses, encryptionKeys, postgresAddress, wholeNumber } from './formats.ts'
import { optional, required, secret, withDefault } from './setting.ts'

/** Settings of Postgres, Redis and object storage, and the keys of the secrets in them. */
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
    'Most Postgres connections of one process, besides those of the queue; a worker needs four for each import at a time',
  ),
  REDIS_URL: secret(
    optional(
      addresses('redis', 'rediss'),
      'Redis for the queues and the rate limits; if unset, Postgres stores them. Several addresses, separated by commas, are nodes of a Redis Cluster',
    ),
  ),
  S3_ENDPOINT: required(address('http', 'https'), 'Address of object storage for the API and the workers'),
  S3_PUBLIC_ENDPOINT: optional(
    address('http', 'https'),
    'Address of object storage for clients; `S3_ENDPOINT` if unset',
  ),
  S3_REGION: withDefault(z.string(), 'us-east-1', 'Region that requests to storage are signed for'),
  S3_BUCKET: required(z.string(), 'Bucket for uploads and error files'),
  S3_ACCESS_KEY_ID: secret(required(z.string(), 'Access key of the bucket')),
  S3_SECRET_ACCESS_KEY: secret(required(z.string(), 'Secret of this access key')),
  ENCRYPTION_KEYS: secret(
    required(
      encryptionKeys,
      'Keys for the secrets in the database, each 32 bytes in base64, separated by commas: the first encrypts, all decrypt',
    ),
  ),
} as const
