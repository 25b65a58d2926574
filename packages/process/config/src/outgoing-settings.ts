import { z } from 'zod'
import { address, networks, secretAddress, trueOrFalse, wholeNumber } from './formats.ts'
import { optional, required, secret, withDefault } from './setting.ts'

/** Settings of mails and webhooks. */
export const outgoingSettings = {
  SMTP_URL: secret(
    required(
      address('smtp', 'smtps'),
      'Mail server, with user and password if it needs a login. `smtps` is TLS; `smtp` uses STARTTLS if the server offers it, and requires it with `?requireTLS=true`',
    ),
  ),
  SMTP_CA_FILE: optional(z.string(), 'File with certificate authorities for the mail server'),
  SMTP_OAUTH2_TOKEN_URL: optional(
    secretAddress,
    'Token endpoint for a login by OAuth 2.0 (XOAUTH2) as the user of `SMTP_URL`, which then has no password',
  ),
  SMTP_OAUTH2_CLIENT_ID: optional(z.string(), 'Client ID of Sluice at the token endpoint'),
  SMTP_OAUTH2_CLIENT_SECRET: secret(optional(z.string(), 'Secret of this client')),
  SMTP_OAUTH2_REFRESH_TOKEN: secret(
    optional(
      z.string(),
      'Refresh token of a mailbox; without it, the client requests access tokens for itself (client credentials)',
    ),
  ),
  SMTP_OAUTH2_SCOPE: optional(z.string(), 'Scope that the token endpoint requires'),
  MAIL_FROM: required(z.string(), 'Sender of the mails, such as `Sluice <no-reply@example.com>`'),
  INBOX_URL: optional(
    address('http', 'https'),
    'Where the mails can be read; the sign-in page links to it. `npm start` sets it, a deployment leaves it unset',
  ),
  MAILS_PER_HOUR: withDefault(
    wholeNumber(1, 1_000_000),
    '1000',
    'Maximum number of mails of an app in an hour; further mails wait',
  ),
  WEBHOOK_ALLOW_HTTP: withDefault(trueOrFalse, 'false', 'Whether webhook endpoints may have http addresses'),
  WEBHOOK_ALLOW_NETWORKS: optional(
    networks,
    'Networks that webhooks may reach although they are not public, such as `10.20.0.0/16,10.30.0.0/16`',
  ),
} as const
