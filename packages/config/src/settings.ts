import { z } from 'zod'
import {
  address,
  durationBetween,
  issuer,
  listOf,
  numberedAddresses,
  proxies,
  size,
  sizeFrom,
  sizeUpTo,
  timeZone,
  wholeNumber,
} from './formats.ts'
import { outgoingSettings } from './outgoing-settings.ts'
import { rateSettings } from './rate-settings.ts'
import { optional, required, secret, withDefault } from './setting.ts'
import { storeSettings } from './store-settings.ts'

/** Every queue that a worker can host. */
export const queueNames = ['imports', 'exports', 'mails', 'webhooks', 'maintenance'] as const

/**
 * The only list of settings: the form, default and meaning of each environment variable. The table of docs/settings.md
 * is made from it.
 */
export const settings = {
  ...storeSettings,
  PUBLISHED_SECRETS: withDefault(
    z.enum(['refuse', 'accept']),
    'refuse',
    'Whether the secrets that `infra/compose.yaml` publishes are accepted; only that file sets `accept`',
  ),
  ...outgoingSettings,
  CELL: withDefault(
    wholeNumber(0, 998),
    '0',
    'Number of the cell: `sluice migrate` lets the IDs of its apps begin at CELL × 1,000,000 + 1',
  ),
  CELLS: optional(
    numberedAddresses,
    'Internal addresses of the APIs of all cells by number, such as `0=http://api-0:3000,1=http://api-1:3000`; requests of an app go to the API of its cell',
  ),
  MEMBER_LIMIT: withDefault(
    wholeNumber(1, 10_000),
    '100',
    'Maximum number of members of an app, including those whose address is not confirmed yet',
  ),
  API_URL: required(address('http', 'https'), 'Address of the API for clients; links to error files begin with it'),
  API_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the API listens on'),
  API_PORT: withDefault(wholeNumber(0, 65_535), '3000', 'Port that the API listens on; 0 picks a free one'),
  API_TRUSTED_PROXIES: optional(
    proxies,
    'Proxies in front of the API, as addresses or networks separated by commas; the audit log then has the address that `X-Forwarded-For` names. Without it, the log has the address of whoever connects',
  ),
  API_HEADERS_TIMEOUT: withDefault(
    durationBetween('100ms', '1h'),
    '10s',
    'How long a client may take to send the headers of a request',
  ),
  API_BODY_TIMEOUT: withDefault(
    durationBetween('100ms', '1h'),
    '30s',
    'How long a client may take to send a whole request with a JSON body',
  ),
  API_UPLOAD_TIMEOUT: withDefault(
    durationBetween('100ms', '1d'),
    '10m',
    'How long a client may take to send a file in the body of a v2 bulk import',
  ),
  API_BODY_BUDGET: withDefault(
    sizeFrom('32MiB'),
    '48MiB',
    'Maximum number of bytes of JSON bodies in flight in one API process, a third of them for one app; a body takes about five times its size in memory',
  ),
  DASHBOARD_URL: required(
    address('http', 'https'),
    'Address of the dashboard for people; links in sign-in mails begin with it, and links of workers that end mails; with https, its cookies are restricted to https',
  ),
  DASHBOARD_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the dashboard listens on'),
  DASHBOARD_PORT: withDefault(wholeNumber(0, 65_535), '3001', 'Port that the dashboard listens on; 0 picks a free one'),
  DASHBOARD_TRUSTED_PROXIES: optional(
    proxies,
    'Proxies in front of the dashboard, as addresses or networks separated by commas; `X-Forwarded-For` then identifies the client. Without it, everybody behind a proxy counts as one client, and a few requests for links lock all of them out',
  ),
  OIDC_ISSUER: optional(
    issuer,
    'Issuer of the OpenID Connect provider that people may sign in with, exactly as the provider writes it',
  ),
  OIDC_CLIENT_ID: optional(z.string(), 'Client ID of the dashboard at the provider; required with `OIDC_ISSUER`'),
  OIDC_CLIENT_SECRET: secret(
    optional(z.string(), 'Client secret of the dashboard at the provider; required with `OIDC_ISSUER`'),
  ),
  OIDC_OPERATOR_GROUP: optional(
    z.string(),
    'People whose claim `groups` at the provider contains this name are operators while they are signed in',
  ),
  SIGN_IN_MAIL: withDefault(
    z.enum(['on', 'off']),
    'on',
    'Whether the dashboard mails sign-in links; `off` needs `OIDC_ISSUER`. Links of `sluice dashboard link` work in both cases',
  ),
  S3_GATEWAY_URL: required(address('http', 'https'), 'Address of the S3 gateway for S3 clients'),
  S3_GATEWAY_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the S3 gateway listens on'),
  S3_GATEWAY_PORT: withDefault(
    wholeNumber(0, 65_535),
    '3006',
    'Port that the S3 gateway listens on; 0 picks a free one',
  ),
  S3_GATEWAY_APP_UPLOADS: withDefault(
    wholeNumber(2, 450),
    '100',
    'Maximum number of uploads of files or parts that one process of the S3 gateway receives from one app at a time; from one access key half as many',
  ),
  // A connection that is silent for two minutes is closed without an answer, so the grace ends before.
  S3_GATEWAY_BODY_GRACE: withDefault(
    durationBetween('100ms', '90s'),
    '30s',
    'How long the sender of a body may stall, or send less than 8 KiB/s, before the S3 gateway answers and closes the connection',
  ),
  S3_GATEWAY_BODY_TIMEOUT: withDefault(
    durationBetween('100ms', '1d'),
    '4h',
    'How long the body of one request to the S3 gateway may take',
  ),
  S3_GATEWAY_SEARCH_INTERVAL: withDefault(
    durationBetween('1s', '1h'),
    '20s',
    'How often the bucket is searched for unannounced files',
  ),
  ...rateSettings,
  LOG_LEVEL: withDefault(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
    'Lowest severity of log lines that are written',
  ),
  METRICS_HOST: withDefault(
    z.string(),
    '127.0.0.1',
    'Address for `/metrics`, `/healthz` and `/readyz` of a process; keep it private',
  ),
  METRICS_PORT: withDefault(
    wholeNumber(0, 65_535),
    '0',
    'Port for these; 0 picks a free one, which the log line `ready` names, and the API serves `/metrics` as well',
  ),
  DRAIN_DELAY: withDefault(
    durationBetween('0', '5m'),
    '0s',
    'How long a stopping process still accepts requests while `/readyz` answers 503, so that load balancers notice',
  ),
  WORKER_QUEUES: withDefault(
    listOf(queueNames),
    queueNames.join(','),
    'Queues that a worker process hosts; `webhooks` needs `ENCRYPTION_KEYS`, and is left out by default without them',
  ),
  IMPORT_CONCURRENCY: withDefault(
    wholeNumber(1, 100),
    '2',
    'Maximum number of imports (of different apps) that one worker runs at a time',
  ),
  IMPORT_ATTEMPTS: withDefault(
    wholeNumber(1, 100),
    '5',
    'Consecutive tries without progress after which an import fails',
  ),
  IMPORT_LEASE: withDefault(
    durationBetween('1s', '1h'),
    '10s',
    'How long a worker that no longer answers keeps its import before another takes over',
  ),
  IMPORT_SLICE: withDefault(
    durationBetween('1ms', '1h'),
    '30s',
    'How long an import runs before it is released for other apps that wait for a worker; it continues later',
  ),
  EXPORT_TIME_LIMIT: withDefault(
    durationBetween('1s', '1d'),
    '1h',
    'How long an export may run before it fails. Its snapshot is as old as that at most, and keeps dead rows from being removed',
  ),
  BATCH_ROWS: withDefault(
    wholeNumber(1, 100_000),
    '10000',
    'Maximum number of rows that an import commits in one transaction, as long as nobody waits for its users',
  ),
  INFERENCE_ROWS: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Data rows from which the type of a new key is inferred',
  ),
  PROFILE_KEY_LIMIT: withDefault(wholeNumber(1, 100_000), '500', 'Maximum number of profile keys of an app'),
  UNCOMPRESSED_LIMIT: withDefault(size, '4GiB', 'Largest file after decompression'),
  ERROR_FILE_LIMIT: withDefault(
    sizeUpTo('5GB'),
    '1GiB',
    'Maximum number of bytes of one error file, and of the disk that Postgres needs to keep its rows; at most 5GB, the limit of one request to storage. Further rows with errors are counted, but not kept',
  ),
  UPLOAD_ORDER_WAIT: withDefault(
    durationBetween('0', '1d'),
    '30s',
    'How long an import whose file is uploaded waits for an earlier import that is still uploading',
  ),
  UPLOAD_CHECK_INTERVAL: withDefault(
    durationBetween('100ms', '1h'),
    '1s',
    'How often storage is asked for finished uploads',
  ),
  FILE_RETENTION_DAYS: withDefault(wholeNumber(1, 3650), '7', 'Days after an import ends until its files are removed'),
  HISTORY_RETENTION_DAYS: withDefault(
    wholeNumber(0, 36_500),
    '400',
    'Days after which ended imports, sent mails and webhook deliveries are removed; 0 keeps all. Deletion requests and the audit log stay',
  ),
  DELETION_BATCH_USERS: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Maximum number of users that a deletion removes in one transaction',
  ),
  SERVICE_TIMEZONE: withDefault(timeZone, 'UTC', 'Time zone of the dates on which deletions start and complete'),
} as const

export type SettingName = keyof typeof settings

type Value<Name extends SettingName> = z.output<(typeof settings)[Name]['schema']>

/** The checked values of the named settings, under their own names. Durations are milliseconds, sizes bytes. */
export type Settings<Name extends SettingName> = {
  [K in Name as undefined extends Value<K> ? never : K]: Value<K>
} & { [K in Name as undefined extends Value<K> ? K : never]?: Value<K> }
