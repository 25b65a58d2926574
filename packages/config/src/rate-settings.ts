import { durationBetween, rateLimit, wholeNumber } from './formats.ts'
import { withDefault } from './setting.ts'

/**
 * Settings of the limits on requests of an app, on pages and forms of the dashboard, and on sign-ins
 * (service.md, Limits).
 */
export const rateSettings = {
  RATE_LIMIT_DELETION: withDefault(rateLimit, '1000/60s', 'Deletion requests with one API token in a fixed window'),
  RATE_LIMIT_PROFILE_UPDATE: withDefault(rateLimit, '1000/60s', 'Profile updates with one API token in a fixed window'),
  RATE_LIMIT_BULK_IMPORT: withDefault(
    rateLimit,
    '10/10m',
    'First requests of v3 bulk imports with one API token in a fixed window',
  ),
  RATE_LIMIT_BULK_IMPORT_V2: withDefault(rateLimit, '10/10m', 'v2 bulk imports with one API token in a fixed window'),
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
  RATE_LIMIT_DASHBOARD_PERSON: withDefault(
    rateLimit,
    '1200/60s',
    'Pages and forms of the dashboard in a fixed window, per person in all sessions together',
  ),
  RATE_LIMIT_DASHBOARD_APP: withDefault(
    rateLimit,
    '6000/60s',
    'Pages and forms of an app that all people together request in a fixed window',
  ),
  WAITING_IMPORTS_LIMIT: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Maximum number of imports of an app that wait at a time for their upload or for a worker, whatever the upload route',
  ),
  RATE_LIMIT_IMPORT_STATUS: withDefault(
    rateLimit,
    '6000/60s',
    'Status requests for imports with one API token in a fixed window',
  ),
  RATE_LIMIT_IMPORT_LIST: withDefault(rateLimit, '1000/60s', 'Lists of imports with one API token in a fixed window'),
  RATE_LIMIT_USER: withDefault(rateLimit, '1000/60s', 'Users read with one API token in a fixed window'),
  RATE_LIMIT_EXPORT: withDefault(rateLimit, '10/10m', 'Exports requested with one API token in a fixed window'),
  RATE_LIMIT_EXPORT_STATUS: withDefault(
    rateLimit,
    '6000/60s',
    'Status requests for exports with one API token in a fixed window',
  ),
  RATE_LIMIT_IMPORT_CANCELLATION: withDefault(
    rateLimit,
    '1000/60s',
    'Cancellations of imports with one API token in a fixed window',
  ),
  RATE_LIMIT_USER_REGISTRATION: withDefault(
    rateLimit,
    '1000/60s',
    'Registrations of users with one API token in a fixed window',
  ),
  RATE_LIMIT_PROFILE_KEYS: withDefault(
    rateLimit,
    '1000/60s',
    'Lists of profile keys with one API token in a fixed window',
  ),
  RATE_LIMIT_KEY_REGISTRATION: withDefault(
    rateLimit,
    '1000/60s',
    'Registrations of profile keys with one API token in a fixed window',
  ),
  RATE_LIMIT_VALUE_REMOVAL: withDefault(
    rateLimit,
    '1000/60s',
    'Removals of values with one API token in a fixed window',
  ),
  RATE_LIMIT_SIGN_IN: withDefault(
    rateLimit,
    '5/15m',
    'Sign-in links that one client requests with one e-mail address; a client is an IPv4 address or an IPv6 /64',
  ),
  RATE_LIMIT_SIGN_IN_ADDRESS: withDefault(
    rateLimit,
    '50/15m',
    'Sign-in links that all clients together request with one e-mail address; keep it well above the limit of one client',
  ),
  RATE_LIMIT_SIGN_IN_CLIENT: withDefault(
    rateLimit,
    '30/15m',
    'Sign-in links that one client requests, with any address, and its sign-ins at the OpenID Connect provider',
  ),
  RATE_LIMIT_TIMEOUT: withDefault(
    durationBetween('1ms', '1m'),
    '100ms',
    'How long a request waits for its count; after this time, the process counts it alone',
  ),
} as const
