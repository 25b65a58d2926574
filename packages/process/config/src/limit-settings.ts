import { durationBetween, rateLimit, wholeNumber } from './formats.ts'
import { withDefault } from './setting.ts'

/** Settings of the limits on uploads of an app (design.md §3), on pages and forms of the dashboard, and on sign-ins. */
export const limitSettings = {
  RATE_LIMIT_BUCKET_IMPORT: withDefault(rateLimit, '600/10m', 'Uploads of an app to the bucket'),
  RATE_LIMIT_DASHBOARD_IMPORT: withDefault(rateLimit, '60/10m', 'Uploads for an app in the dashboard'),
  RATE_LIMIT_DASHBOARD_PERSON: withDefault(rateLimit, '1200/60s', 'Pages and forms of a person in the dashboard'),
  RATE_LIMIT_DASHBOARD_APP: withDefault(rateLimit, '6000/60s', 'Pages and forms of an app, for all people together'),
  RATE_LIMIT_DASHBOARD_EXPORT: withDefault(
    rateLimit,
    '10/10m',
    'Exports of an app that are requested in the dashboard',
  ),
  WAITING_IMPORTS_LIMIT: withDefault(
    wholeNumber(1, 100_000),
    '1000',
    'Maximum number of imports of an app that wait for their upload or for a worker',
  ),
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
