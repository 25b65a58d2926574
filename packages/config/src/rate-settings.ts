import { durationBetween, rateLimit, wholeNumber } from './formats.ts'
import { withDefault } from './setting.ts'

/**
 * Settings of the limits on requests of an app, on pages and forms of the dashboard, and on sign-ins
 * (service.md, Limits).
 */
export const rateSettings = {
  RATE_LIMIT_DELETION: withDefault(rateLimit, '1000/60s', 'Deletion requests of an API token'),
  RATE_LIMIT_PROFILE_UPDATE: withDefault(rateLimit, '1000/60s', 'Profile updates of an API token'),
  RATE_LIMIT_BULK_IMPORT: withDefault(rateLimit, '10/10m', 'First requests of v3 bulk imports of an API token'),
  RATE_LIMIT_BULK_IMPORT_V2: withDefault(rateLimit, '10/10m', 'v2 bulk imports of an API token'),
  RATE_LIMIT_BUCKET_IMPORT: withDefault(rateLimit, '600/10m', 'Uploads of an app to the bucket'),
  RATE_LIMIT_DASHBOARD_IMPORT: withDefault(rateLimit, '60/10m', 'Uploads for an app in the dashboard'),
  RATE_LIMIT_DASHBOARD_PERSON: withDefault(rateLimit, '1200/60s', 'Pages and forms of a person in the dashboard'),
  RATE_LIMIT_DASHBOARD_APP: withDefault(rateLimit, '6000/60s', 'Pages and forms of an app, for all people together'),
  WAITING_IMPORTS_LIMIT: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Maximum number of imports of an app that wait for their upload or for a worker',
  ),
  RATE_LIMIT_IMPORT_STATUS: withDefault(rateLimit, '6000/60s', 'Status requests for imports of an API token'),
  RATE_LIMIT_IMPORT_LIST: withDefault(rateLimit, '1000/60s', 'Lists of imports of an API token'),
  RATE_LIMIT_USER: withDefault(rateLimit, '1000/60s', 'Users that an API token reads'),
  RATE_LIMIT_EXPORT: withDefault(rateLimit, '10/10m', 'Exports of an API token'),
  RATE_LIMIT_EXPORT_STATUS: withDefault(rateLimit, '6000/60s', 'Status requests for exports of an API token'),
  RATE_LIMIT_IMPORT_CANCELLATION: withDefault(rateLimit, '1000/60s', 'Cancellations of an API token'),
  RATE_LIMIT_USER_REGISTRATION: withDefault(rateLimit, '1000/60s', 'Registrations of users by an API token'),
  RATE_LIMIT_PROFILE_KEYS: withDefault(rateLimit, '1000/60s', 'Lists of profile keys of an API token'),
  RATE_LIMIT_KEY_REGISTRATION: withDefault(rateLimit, '1000/60s', 'Registrations of profile keys by an API token'),
  RATE_LIMIT_VALUE_REMOVAL: withDefault(rateLimit, '1000/60s', 'Removals of values by an API token'),
  RATE_LIMIT_SIGN_IN: withDefault(
    rateLimit,
    '5/15m',
    'Sign-in links of a client (an IPv4 address or an IPv6 /64) for an e-mail address',
  ),
  RATE_LIMIT_SIGN_IN_ADDRESS: withDefault(
    rateLimit,
    '50/15m',
    'Sign-in links for an e-mail address; keep it well above the limit of one client',
  ),
  RATE_LIMIT_SIGN_IN_CLIENT: withDefault(
    rateLimit,
    '30/15m',
    'Sign-in links of a client, and its sign-ins at the OpenID Connect provider',
  ),
  RATE_LIMIT_TIMEOUT: withDefault(
    durationBetween('1ms', '1m'),
    '100ms',
    'How long a request waits for its count before the process counts it alone',
  ),
} as const
