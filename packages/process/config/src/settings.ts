import { z } from 'zod'
import {
  address,
  durationBetween,
  issuer,
  namesAmong,
  numberedAddresses,
  numberedDatabases,
  proxies,
  size,
  sizeFrom,
  sizeUpTo,
  timeZone,
  wholeNumber,
  writtenDuration,
} from './formats.ts'
import { limitSettings } from './limit-settings.ts'
import { outgoingSettings } from './outgoing-settings.ts'
import { optional, required, secret, withDefault } from './setting.ts'
import { storeSettings } from './store-settings.ts'

/** Every queue that a worker can host. */
export const queueNames = ['imports', 'exports', 'mails', 'webhooks', 'maintenance'] as const

/** Maximum that the limit of an app's profile keys may have, as a setting or as a limit of the app's own. */
export const maxProfileKeys = 100_000

/**
 * The only list of settings (design.md §3): the form, default and meaning of each environment variable. The table of
 * docs/settings.md is made from it.
 */
export const settings = {
  ...storeSettings,
  PUBLISHED_SECRETS: withDefault(
    z.enum(['refuse', 'accept']),
    'refuse',
    'Whether the secrets in `infra/compose.yaml` are accepted; only that file sets `accept`',
  ),
  ...outgoingSettings,
  CELL: withDefault(
    wholeNumber(0, 998),
    '0',
    'Number of the cell: `sluice migrate` lets the IDs of its apps begin at CELL × 1,000,000 + 1',
  ),
  CELLS: optional(
    numberedAddresses,
    'Internal addresses of the APIs of all cells, such as `0=http://api-0:3000,1=http://api-1:3000`',
  ),
  CELL_DASHBOARDS: optional(
    numberedAddresses,
    'Addresses of the dashboards of all cells for people, such as `0=https://sluice.example,1=https://sluice-1.example`',
  ),
  CELL_S3_GATEWAYS: optional(
    numberedAddresses,
    'Internal addresses of the S3 gateways of all cells, such as `0=http://gateway-0:3006,1=http://gateway-1:3006`',
  ),
  CELL_DATABASES: secret(
    optional(
      numberedDatabases,
      'Postgres of the cells for `sluice apps move`, as the owner of the tables, such as `0=postgres://… 1=postgres://…`',
    ),
  ),
  MEMBER_LIMIT: withDefault(
    wholeNumber(1, 10_000),
    '100',
    'Maximum number of members of an app, including open invitations',
  ),
  API_URL: required(address('http', 'https'), 'Address of the API for clients; links to error files begin with it'),
  // The three hosts: design.md §2, Ports.
  API_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the API listens on'),
  API_PORT: withDefault(wholeNumber(0, 65_535), '3000', 'Port that the API listens on'),
  API_TRUSTED_PROXIES: optional(
    proxies,
    'Proxies in front of the API, as addresses or networks separated by commas; the audit log then has the address that `X-Forwarded-For` names',
  ),
  API_HEADERS_TIMEOUT: withDefault(durationBetween('100ms', '1h'), '10s', 'Time for the headers of a request'),
  API_BODY_TIMEOUT: withDefault(durationBetween('100ms', '1h'), '30s', 'Time for a request with a JSON body'),
  API_UPLOAD_TIMEOUT: withDefault(durationBetween('100ms', '1d'), '10m', 'Time for the file of a v2 bulk import'),
  API_BODY_BUDGET: withDefault(
    sizeFrom('32MiB'),
    '48MiB',
    'Bytes of JSON bodies in flight in one API process, a third of them for one app; a body takes five times its size in memory',
  ),
  DASHBOARD_URL: required(
    address('http', 'https'),
    'Address of the dashboard for people; links in mails begin with it, and https restricts its cookies to https',
  ),
  DASHBOARD_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the dashboard listens on'),
  DASHBOARD_PORT: withDefault(wholeNumber(0, 65_535), '3001', 'Port that the dashboard listens on'),
  DASHBOARD_TRUSTED_PROXIES: optional(
    proxies,
    'Proxies in front of the dashboard, as addresses or networks separated by commas. Without it, everybody behind a proxy counts as one client, and a few requests for links lock all of them out',
  ),
  OIDC_ISSUER: optional(issuer, 'Issuer of the OpenID Connect provider, exactly as the provider writes it'),
  OIDC_CLIENT_ID: optional(z.string(), 'Client ID of the dashboard at the provider; required with `OIDC_ISSUER`'),
  OIDC_CLIENT_SECRET: secret(
    optional(z.string(), 'Client secret of the dashboard at the provider; required with `OIDC_ISSUER`'),
  ),
  OIDC_OPERATOR_GROUP: optional(
    z.string(),
    'People whose claim `groups` contains this name are operators while they are signed in',
  ),
  SIGN_IN_MAIL: withDefault(
    z.enum(['on', 'off']),
    'on',
    'Whether the dashboard mails sign-in links; `off` needs `OIDC_ISSUER`',
  ),
  S3_GATEWAY_URL: required(address('http', 'https'), 'Address of the S3 gateway for S3 clients'),
  S3_GATEWAY_HOST: withDefault(z.string(), '127.0.0.1', 'Address that the S3 gateway listens on'),
  S3_GATEWAY_PORT: withDefault(wholeNumber(0, 65_535), '3006', 'Port that the S3 gateway listens on'),
  S3_GATEWAY_APP_UPLOADS: withDefault(
    wholeNumber(2, 450),
    '100',
    'Maximum number of uploads of an app at a time in a process of the S3 gateway; of an access key half as many',
  ),
  // A connection that is silent for two minutes is closed without an answer, so the grace ends before.
  S3_GATEWAY_BODY_GRACE: withDefault(
    durationBetween('100ms', '90s'),
    '30s',
    'How long the sender of a body may stall, or send less than 8 KiB/s',
  ),
  S3_GATEWAY_BODY_TIMEOUT: withDefault(
    durationBetween('100ms', '1d'),
    '4h',
    'Time for the body of a request to the S3 gateway',
  ),
  S3_GATEWAY_SEARCH_INTERVAL: withDefault(
    durationBetween('1s', '1h'),
    '20s',
    'How often the bucket is searched for unannounced files',
  ),
  ...limitSettings,
  LOG_LEVEL: withDefault(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
    'Lowest severity of log lines',
  ),
  METRICS_HOST: withDefault(
    z.string(),
    '127.0.0.1',
    'Address for `/metrics`, `/healthz` and `/readyz` of a process; keep it private',
  ),
  METRICS_PORT: withDefault(
    wholeNumber(0, 65_535),
    '0',
    'Port for these; 0 picks a free one, which the log line `ready` names',
  ),
  DRAIN_DELAY: withDefault(
    durationBetween('0', '5m'),
    '0s',
    'How long a stopping process still accepts requests, so that load balancers notice',
  ),
  WORKER_QUEUES: withDefault(
    namesAmong(queueNames),
    queueNames.join(','),
    'Queues that a worker hosts; without `ENCRYPTION_KEYS`, the default has no `webhooks`',
  ),
  IMPORT_CONCURRENCY: withDefault(wholeNumber(1, 100), '2', 'Maximum number of imports that a worker runs at a time'),
  IMPORT_ATTEMPTS: withDefault(
    wholeNumber(1, 100),
    '5',
    'Consecutive tries without progress after which an import fails',
  ),
  IMPORT_LEASE: withDefault(
    durationBetween('1s', '1h'),
    '10s',
    'How long a worker that no longer answers keeps its import',
  ),
  IMPORT_SLICE: withDefault(
    durationBetween('1ms', '1h'),
    '30s',
    'How long an import runs before it makes way for other apps that wait',
  ),
  HOLD_LIMIT: withDefault(
    writtenDuration('1s', '30d'),
    '72h',
    'How long a held import waits for approval before it fails',
  ),
  EXPORT_TIME_LIMIT: withDefault(
    durationBetween('1s', '1d'),
    '1h',
    'How long an export may run before it fails; its snapshot keeps dead rows from being removed',
  ),
  BATCH_ROWS: withDefault(
    wholeNumber(1, 100_000),
    '10000',
    'Maximum number of rows in a transaction, while nobody waits for its users',
  ),
  KNOWN_ROWS_MEMORY: withDefault(
    size,
    '160MB',
    'Memory of a worker for comparing files of mostly unchanged rows with all profiles; 12 bytes a profile',
  ),
  INFERENCE_ROWS: withDefault(wholeNumber(1, 100_000), '1000', 'Rows from which the type of a new key is inferred'),
  PROFILE_KEY_LIMIT: withDefault(wholeNumber(1, maxProfileKeys), '500', 'Maximum number of profile keys of an app'),
  UNCOMPRESSED_LIMIT: withDefault(size, '4GiB', 'Largest file after decompression'),
  ERROR_FILE_LIMIT: withDefault(
    sizeUpTo('5GB'),
    '1GiB',
    'Maximum size of an error file, and of its rows in Postgres, up to 5GB; further rows with errors are only counted',
  ),
  CHANGES_FILE_LIMIT: withDefault(
    sizeUpTo('5GB'),
    '1GiB',
    'Maximum size of an uncompressed changes file, and of its rows in Postgres; further changes are only counted',
  ),
  UPLOAD_ORDER_WAIT: withDefault(
    durationBetween('0', '1d'),
    '30s',
    'How long an import waits for an earlier one that is still uploading',
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
    'Days after which ended imports, sent mails and webhook deliveries are removed; 0 keeps all',
  ),
  DELETION_BATCH_USERS: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Users that a deletion removes in one transaction',
  ),
  SERVICE_TIMEZONE: withDefault(timeZone, 'UTC', 'Time zone of the dates of deletions'),
} as const

export type SettingName = keyof typeof settings

type Value<Name extends SettingName> = z.output<(typeof settings)[Name]['schema']>

/** The checked values of the named settings, under their own names. Durations are milliseconds, sizes bytes. */
export type Settings<Name extends SettingName> = {
  [K in Name as undefined extends Value<K> ? never : K]: Value<K>
} & { [K in Name as undefined extends Value<K> ? K : never]?: Value<K> }
