import { z } from 'zod'
import {
  address,
  addresses,
  durationBetween,
  encryptionKeys,
  listOf,
  rateLimit,
  size,
  sizeFrom,
  sizeUpTo,
  timeZone,
  wholeNumber,
} from './formats.ts'

interface Setting<Schema extends z.ZodType> {
  schema: Schema
  /** As it would stand in the environment; without one the setting is required, unless `optional`. */
  default?: string
  optional?: true
  description: string
}

const required = <S extends z.ZodType>(schema: S, description: string): Setting<S> => ({ schema, description })
const withDefault = <S extends z.ZodType>(schema: S, value: string, description: string): Setting<S> => ({
  schema,
  default: value,
  description,
})
const optional = <S extends z.ZodType>(schema: S, description: string): Setting<z.ZodOptional<S>> => ({
  schema: schema.optional(),
  optional: true,
  description,
})

/** Every queue that a worker can host. */
export const queueNames = ['imports', 'mails', 'maintenance'] as const

/** The one list of settings: what an environment variable means, its form and its default. README's table is made from it. */
export const settings = {
  DATABASE_URL: required(address('postgres', 'postgresql'), 'Postgres, which holds the truth'),
  DATABASE_POOL: withDefault(
    wholeNumber(2, 1000),
    '10',
    'Postgres connections of one process, beside those of the queue; a worker wants four for each import at a time',
  ),
  REDIS_URL: optional(
    addresses('redis', 'rediss'),
    'Redis for the queues and the rate limits; without it they live in Postgres. Several addresses, separated by commas, are nodes of a Redis Cluster',
  ),
  S3_ENDPOINT: required(address('http', 'https'), 'Object storage, as the API and the workers reach it'),
  S3_PUBLIC_ENDPOINT: optional(address('http', 'https'), 'Object storage, as clients reach it; `S3_ENDPOINT` if unset'),
  S3_REGION: withDefault(z.string(), 'us-east-1', 'Region that requests to storage are signed for'),
  S3_BUCKET: required(z.string(), 'Bucket for uploads and error files'),
  S3_ACCESS_KEY_ID: required(z.string(), 'Access key of the bucket'),
  S3_SECRET_ACCESS_KEY: required(z.string(), 'Its secret'),
  ENCRYPTION_KEYS: required(
    encryptionKeys,
    'Keys for the secrets that the database holds, each 32 bytes in base64, separated by commas: the first encrypts, all decrypt',
  ),
  PUBLISHED_SECRETS: withDefault(
    z.enum(['refuse', 'accept']),
    'refuse',
    'Whether the secrets that `infra/compose.yaml` publishes are accepted; only that file sets `accept`',
  ),
  SMTP_URL: required(address('smtp', 'smtps'), 'Mail server'),
  MAIL_FROM: required(z.string(), 'Sender of the mails, such as `Sluice <no-reply@example.com>`'),
  MAILS_PER_HOUR: withDefault(
    wholeNumber(1, 1_000_000),
    '1000',
    'Mails of an app that are sent in an hour; more of them wait for the next hour',
  ),
  MEMBER_LIMIT: withDefault(
    wholeNumber(1, 10_000),
    '100',
    'Members that an app can have, those who have not confirmed their address included',
  ),
  API_URL: required(address('http', 'https'), 'The API as clients reach it: links to error files begin with it'),
  API_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the API listens on'),
  API_PORT: withDefault(wholeNumber(0, 65_535), '3000', 'Port that the API listens on; 0 picks a free one'),
  API_HEADERS_TIMEOUT: withDefault(
    durationBetween('100ms', '1h'),
    '10s',
    'How long a client may take to send the headers of a request',
  ),
  API_BODY_TIMEOUT: withDefault(
    durationBetween('100ms', '1h'),
    '30s',
    'How long it may take to send the whole request, with a JSON body',
  ),
  API_UPLOAD_TIMEOUT: withDefault(
    durationBetween('100ms', '1d'),
    '10m',
    'How long it may take to send a file in the body of a v2 bulk import',
  ),
  API_BODY_BUDGET: withDefault(
    sizeFrom('32MiB'),
    '48MiB',
    'Bytes of JSON bodies that one API process has in flight, a third of them for one app; each takes about five times its size in memory',
  ),
  DASHBOARD_URL: required(
    address('http', 'https'),
    'The dashboard as people reach it: links in sign-in mails begin with it; with https its cookies are for https only',
  ),
  DASHBOARD_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the dashboard listens on'),
  DASHBOARD_PORT: withDefault(wholeNumber(0, 65_535), '3001', 'Port that the dashboard listens on; 0 picks a free one'),
  DASHBOARD_TRUSTED_PROXIES: optional(
    z.string(),
    'Proxies before the dashboard, as addresses or networks separated by commas; who asks is then taken from `X-Forwarded-For`. Behind a proxy that is not named, everybody counts as one client, and a few requests for links lock all of them out',
  ),
  S3_GATEWAY_URL: required(address('http', 'https'), 'The S3 gateway as clients of S3 reach it'),
  S3_GATEWAY_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the S3 gateway listens on'),
  S3_GATEWAY_PORT: withDefault(
    wholeNumber(0, 65_535),
    '3006',
    'Port that the S3 gateway listens on; 0 picks a free one',
  ),
  S3_GATEWAY_APP_UPLOADS: withDefault(
    wholeNumber(2, 450),
    '100',
    'Requests with a file, or a part of one, that a process of the S3 gateway receives from one app at a time; from one access key half as many',
  ),
  S3_GATEWAY_BODY_GRACE: withDefault(
    durationBetween('100ms', '1h'),
    '30s',
    'How long the sender of a body may stall, or be behind 8 KiB a second; then the S3 gateway answers and closes the connection',
  ),
  S3_GATEWAY_BODY_TIMEOUT: withDefault(
    durationBetween('100ms', '1d'),
    '4h',
    'How long the body of one request to the S3 gateway may take',
  ),
  S3_GATEWAY_SEARCH_INTERVAL: withDefault(
    durationBetween('1s', '1h'),
    '20s',
    'How often the bucket is searched for files that came past the S3 gateway',
  ),
  RATE_LIMIT_DELETION: withDefault(rateLimit, '1000/60s', 'Deletion requests of an app in a fixed window'),
  RATE_LIMIT_PROFILE_UPDATE: withDefault(rateLimit, '1000/60s', 'Profile updates of an app in a fixed window'),
  RATE_LIMIT_BULK_IMPORT: withDefault(
    rateLimit,
    '10/10m',
    'First requests of v3 bulk imports of an app in a fixed window',
  ),
  RATE_LIMIT_BULK_IMPORT_V2: withDefault(rateLimit, '10/10m', 'v2 bulk imports of an app in a fixed window'),
  RATE_LIMIT_BUCKET_IMPORT: withDefault(
    rateLimit,
    '600/10m',
    'Uploads to the bucket that an app begins in a fixed window',
  ),
  RATE_LIMIT_DASHBOARD_IMPORT: withDefault(
    rateLimit,
    '60/10m',
    'Files for an app that are uploaded in the dashboard in a fixed window',
  ),
  WAITING_IMPORTS_LIMIT: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Imports of an app that may wait at a time for their upload or for a worker, whatever the upload route',
  ),
  RATE_LIMIT_IMPORT_STATUS: withDefault(rateLimit, '6000/60s', 'Looks at imports of an app in a fixed window'),
  RATE_LIMIT_IMPORT_CANCELLATION: withDefault(
    rateLimit,
    '1000/60s',
    'Cancellations of imports of an app in a fixed window',
  ),
  RATE_LIMIT_USER_REGISTRATION: withDefault(
    rateLimit,
    '1000/60s',
    'Registrations of users of an app in a fixed window',
  ),
  RATE_LIMIT_SIGN_IN: withDefault(
    rateLimit,
    '5/15m',
    'Sign-in links that one client asks for with one e-mail address; a client is an IPv4 address or an IPv6 /64',
  ),
  RATE_LIMIT_SIGN_IN_ADDRESS: withDefault(
    rateLimit,
    '50/15m',
    'Sign-in links that all clients together ask for with one e-mail address; keep it well above the share of one client',
  ),
  RATE_LIMIT_SIGN_IN_CLIENT: withDefault(
    rateLimit,
    '30/15m',
    'Sign-in links that one client asks for, with any address',
  ),
  RATE_LIMIT_TIMEOUT: withDefault(
    durationBetween('1ms', '1m'),
    '100ms',
    'How long a request waits to be counted; then its process counts it alone',
  ),
  LOG_LEVEL: withDefault(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
    'Least severe log line to write',
  ),
  METRICS_HOST: withDefault(
    z.string(),
    '127.0.0.1',
    'Address for `/metrics`, `/healthz` and `/readyz` of a process; keep it private',
  ),
  METRICS_PORT: withDefault(
    wholeNumber(0, 65_535),
    '0',
    'Its port; 0 picks a free one, which the line `ready` of the log names',
  ),
  DRAIN_DELAY: withDefault(
    durationBetween('0', '5m'),
    '0s',
    'How long a process that is told to stop goes on taking requests, with 503 at `/readyz`, until load balancers know',
  ),
  WORKER_QUEUES: withDefault(listOf(queueNames), queueNames.join(','), 'Queues that a worker process hosts'),
  IMPORT_CONCURRENCY: withDefault(
    wholeNumber(1, 100),
    '2',
    'Imports (of different apps) that one worker runs at a time',
  ),
  IMPORT_ATTEMPTS: withDefault(wholeNumber(1, 100), '5', 'Tries in a row without progress after which an import fails'),
  IMPORT_LEASE: withDefault(
    durationBetween('1s', '1h'),
    '10s',
    'How long a silent worker keeps its import before another takes over',
  ),
  IMPORT_SLICE: withDefault(
    durationBetween('1ms', '1h'),
    '30s',
    'How long an import runs before it makes room for other apps that wait for a worker; it goes on later',
  ),
  BATCH_ROWS: withDefault(wholeNumber(1, 100_000), '5000', 'Most rows that an import commits in one transaction'),
  INFERENCE_ROWS: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Data rows from which the type of a new key is inferred',
  ),
  PROFILE_KEY_LIMIT: withDefault(wholeNumber(1, 100_000), '500', 'Profile keys that an app can have'),
  UNCOMPRESSED_LIMIT: withDefault(size, '4GiB', 'Largest file after decompression'),
  ERROR_FILE_LIMIT: withDefault(
    sizeUpTo('5GB'),
    '1GiB',
    'Largest error file, at most 5GB, which one request to storage may have; rows with errors beyond it are counted and not kept',
  ),
  UPLOAD_ORDER_WAIT: withDefault(
    durationBetween('0', '1d'),
    '30s',
    'How long an import whose file is there waits for an earlier one that is still uploading',
  ),
  UPLOAD_CHECK_INTERVAL: withDefault(
    durationBetween('100ms', '1h'),
    '1s',
    'How often storage is asked for finished uploads',
  ),
  FILE_RETENTION_DAYS: withDefault(wholeNumber(1, 3650), '7', 'Days after an import ends until its files are removed'),
  DELETION_BATCH_USERS: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Users that a deletion removes in one transaction',
  ),
  SERVICE_TIMEZONE: withDefault(timeZone, 'UTC', 'Time zone of the calendar that deletions start and complete by'),
} as const

export type SettingName = keyof typeof settings

type Value<Name extends SettingName> = z.output<(typeof settings)[Name]['schema']>

/** The checked values of the named settings, under their own names. Durations are milliseconds, sizes bytes. */
export type Settings<Name extends SettingName> = {
  [K in Name as undefined extends Value<K> ? never : K]: Value<K>
} & { [K in Name as undefined extends Value<K> ? K : never]?: Value<K> }
